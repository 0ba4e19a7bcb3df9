"""Shows plans: to a person, and to CI servers."""
