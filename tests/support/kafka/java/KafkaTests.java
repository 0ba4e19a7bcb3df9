import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.test.ClusterInstance;
import org.apache.kafka.server.authorizer.Authorizer;

/** Runs the tests of Kafka's test classes against a cluster that is running somewhere. */
public final class KafkaTests {
    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        String controllers = arguments[1];
        try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", servers))) {
            ClusterInstance cluster = cluster(servers, controllers, admin);
            for (String name : Arrays.asList(arguments).subList(2, arguments.length)) {
                Class<?> type = Class.forName(name);
                for (Method test : type.getDeclaredMethods()) {
                    if (isTest(test)) {
                        run(type, test, cluster);
                        admin.deleteAcls(List.of(AclBindingFilter.ANY)).all().get();
                    }
                }
            }
        }
        System.exit(0);
    }

    private static boolean isTest(Method method) {
        return Modifier.isPublic(method.getModifiers())
            && Arrays.stream(method.getAnnotations())
                .anyMatch(each -> each.annotationType().getSimpleName().matches("Test|ClusterTests?|ClusterTemplate"));
    }

    private static void run(Class<?> type, Method test, ClusterInstance cluster) {
        String said = "passed";
        try {
            var constructor = type.getDeclaredConstructors()[0];
            constructor.setAccessible(true);
            Object instance = constructor.getParameterCount() == 0
                ? constructor.newInstance() : constructor.newInstance(cluster);
            test.setAccessible(true);
            if (test.getParameterCount() == 0) {
                test.invoke(instance);
            } else {
                test.invoke(instance, cluster);
            }
        } catch (InvocationTargetException failure) {
            said = "failed\t" + failure.getCause();
        } catch (ReflectiveOperationException failure) {
            said = "not run\t" + failure;
        }
        System.out.println("CASE\t" + type.getSimpleName() + "." + test.getName() + "\t" + said.replace("\n", " "));
    }

    private static ClusterInstance cluster(String servers, String controllers, Admin admin) {
        Authorizer authorizer = proxy(Authorizer.class, (self, method, given) ->
            admin.describeAcls((AclBindingFilter) given[0]).values().get());
        return proxy(ClusterInstance.class, (self, method, given) -> switch (method.getName()) {
            case "bootstrapServers" -> servers;
            case "bootstrapControllers" -> controllers;
            case "authorizers" -> List.of(authorizer);
            default -> {
                if (!method.isDefault()) {
                    throw new UnsupportedOperationException(method.toString());
                }
                yield InvocationHandler.invokeDefault(self, method, given);
            }
        });
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
}
