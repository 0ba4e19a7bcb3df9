// The report's charts, filter and copy buttons. This script inserts text, and never makes HTML.
(() => {
  'use strict';
  const data = JSON.parse(document.getElementById('data').textContent);
  const byId = (id) => document.getElementById(id);
  const DAY = 86400000;
  const number = new Intl.NumberFormat('en');
  const one = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
  const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
  const month = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' });
  const counted = (count, what) => `${number.format(count)} ${what}${count === 1 ? '' : 's'}`;
  const short = (value) => {
    const [size, unit] = [[1e9, ' bn'], [1e6, ' m'], [1e4, ' k']].find(([least]) => value >= least) ?? [1, ''];
    return one.format(size === 1e4 ? value / 1e3 : value / size) + unit;
  };
  const clamp = (value, least, most) => Math.max(least, Math.min(most, value));

  // The width between the margins of A4 or Letter. When the browser prints, an element's clientWidth
  // is still its width on the screen.
  const SHEET = 690;
  let isPrinting = false;
  const isPaper = () => isPrinting || matchMedia('print').matches;
  const widthOf = (box) => (isPaper() ? SHEET : box.clientWidth);

  // The names, each cut to at most `room` letters. The letters in which names differ are kept.
  function shortened(names, room) {
    const sorted = [...new Set(names)].sort();
    const alike = (one, other = '') => {
      let at = 0;
      while (at < one.length && one[at] === other[at]) at += 1;
      return at;
    };
    const short = new Map();
    const taken = new Set();
    sorted.forEach((name, place) => {
      const differs = Math.max(alike(name, sorted[place - 1]), alike(name, sorted[place + 1]));
      let text = name;
      if (name.length > room) {
        const head = differs < room - 2 ? room - 1 : Math.max(1, Math.floor(room / 4));
        const rest = room - head - 2;
        const from = Math.min(differs - Math.floor(rest / 2), name.length - rest - 1);
        text = `${name.slice(0, head)}…`;
        if (head < room - 1) text += from + rest + 1 < name.length ? `${name.slice(from, from + rest)}…` : name.slice(from);
      }
      for (let number = 2; taken.has(text); number += 1) text = `${text.slice(0, room - 4)}…${number}`;
      taken.add(text);
      short.set(name, text);
    });
    return names.map((name) => short.get(name));
  }

  function inks() {
    const style = getComputedStyle(document.documentElement);
    const ink = {};
    for (const name of ['ink', 'muted', 'line', 'accent', 'tint', 'paper', 'wash', 'text', 'code']) {
      ink[name] = style.getPropertyValue(`--${name}`).trim();
    }
    return ink;
  }

  function chartIn(box) {
    return echarts.init(box, null, { renderer: 'canvas', devicePixelRatio: Math.max(2, devicePixelRatio) });
  }

  function overlay(box, name) {
    const made = document.createElement('div');
    made.className = name;
    made.hidden = true;
    box.append(made);
    return made;
  }

  // -- Coverage and answers: strips, ticks and bars over one axis of time

  function windowChart() {
    const box = byId('window-chart');
    const read = byId('window-read');
    const said = read.textContent;
    const { start, step, allowed, denied, changes, strips } = data.window;
    const bars = allowed.length;
    const first = Date.parse(start);
    const end = first + bars * step * DAY;
    const row = strips.length > 20 ? 7 : 13;
    const panels = [
      { title: '', top: 4, height: Math.max(1, strips.length) * row },
      { title: 'ACL changes', height: 28, values: changes },
      { title: 'allowed', height: 110, values: allowed },
      { title: 'denied', height: 70, values: denied },
    ];
    panels.forEach((panel, at) => {
      if (at) panel.top = panels[at - 1].top + panels[at - 1].height + 14;
    });
    const height = panels[3].top + panels[3].height + 26;
    box.style.height = `${height}px`;
    const chart = chartIn(box);
    const cursor = overlay(box, 'cursor');
    let at = -1;

    const runs = strips.flatMap((strip, place) => {
      const found = [];
      for (let from = 0, to = 1; to <= bars; to += 1) {
        if (to === bars || strip.states[to] !== strip.states[from]) {
          found.push([first + from * step * DAY, place, first + to * step * DAY, 'nbd'.indexOf(strip.states[from])]);
          from = to;
        }
      }
      return found;
    });

    function strip(ink) {
      return (_, api) => {
        const [left, middle] = api.coord([api.value(0), api.value(1)]);
        const [right] = api.coord([api.value(2), api.value(1)]);
        const state = api.value(3);
        const tall = row - 2;
        const x = Math.round(left);
        const shape = { x, y: middle - tall / 2, width: Math.max(1, Math.round(right) - x), height: tall };
        if (state === 0) {
          return {
            type: 'line',
            shape: { x1: left, x2: right, y1: middle, y2: middle },
            style: { stroke: ink.muted, lineWidth: 1, lineDash: [1, 3] },
          };
        }
        return { type: 'rect', shape, style: { fill: state === 1 ? ink.accent : ink.tint } };
      };
    }

    function bar(fill) {
      return (_, api) => {
        const value = api.value(1);
        if (!value) return null;
        const [left, top] = api.coord([api.value(0), value]);
        const [right, bottom] = api.coord([api.value(0) + step * DAY, 0]);
        const wide = Math.round(right) - Math.round(left);
        const width = clamp(wide > 4 ? wide - 1 : wide, 1, 48);
        const x = Math.round(left) + Math.max(0, Math.floor((wide - width) / 2));
        const base = Math.round(bottom);
        const tall = Math.max(1, base - top);
        return { type: 'rect', shape: { x, y: base - tall, width, height: tall }, style: { fill } };
      };
    }

    function draw() {
      const ink = inks();
      const longest = Math.max(0, ...strips.map((each) => each.name.length));
      const wide = widthOf(box);
      const left = clamp(longest * 6.4 + 12, 84, Math.max(84, wide * 0.3));
      const label = { color: ink.muted, fontFamily: ink.text, fontSize: 11 };
      const grid = panels.map(({ top, height: tall }) => ({ left, right: 8, top, height: tall }));
      const xAxis = panels.map((_, place) => ({
        type: 'value',
        gridIndex: place,
        min: first,
        max: end,
        axisLine: { show: place > 0, onZero: false, lineStyle: { color: ink.line } },
        axisTick: { show: false },
        splitLine: { show: false },
        axisLabel: { show: false },
      }));
      const yAxis = panels.map(({ title, values }, place) =>
        values
          ? {
              type: 'value',
              gridIndex: place,
              min: 0,
              max: Math.max(1, ...values),
              interval: Math.max(1, ...values),
              axisLine: { show: false },
              axisTick: { show: false },
              splitLine: { show: false },
              axisLabel: {
                ...label,
                lineHeight: 14,
                verticalAlign: 'top',
                padding: [-3, 0, 0, 0],
                formatter: (value) => (value ? `${title}\n${short(Math.max(0, ...values))}` : ''),
              },
            }
          : {
              type: 'category',
              gridIndex: place,
              inverse: true,
              data: strips.map((each) => each.name),
              axisLine: { show: false },
              axisTick: { show: false },
              axisLabel: { ...label, interval: row > 10 ? 0 : 'auto', width: left - 10, overflow: 'truncate' },
            },
      );
      const common = { type: 'custom', silent: true, animation: false };
      const series = panels.map(({ values }, place) => ({
        ...common,
        xAxisIndex: place,
        yAxisIndex: place,
        encode: { x: 0, y: 1 },
        data: values ? values.map((value, index) => [first + index * step * DAY, value]) : runs,
        renderItem: values ? bar(place === 3 ? ink.ink : place === 2 ? ink.accent : ink.muted) : strip(ink),
        clip: !values,
      }));
      const ticks = monthTicks(first, end, Math.floor((wide - left) / 46));
      Object.assign(xAxis[3], {
        type: 'value',
        axisTick: { show: true, customValues: ticks, lineStyle: { color: ink.line } },
        axisLabel: {
          ...label,
          show: true,
          customValues: ticks,
          hideOverlap: true,
          formatter: (value) => tickName(value),
        },
      });
      chart.resize({ width: wide, height });
      chart.setOption({ animation: false, grid, xAxis, yAxis, series }, true);
      chart.getZr().flush();
      show(at);
    }

    function monthTicks(from, to, room) {
      const found = [];
      const day = new Date(from);
      if (to - from < 70 * DAY) {
        const each = Math.max(1, Math.ceil((to - from) / DAY / Math.max(2, room)));
        for (let time = from; time < to; time += each * DAY) found.push(time);
        return found;
      }
      let time = Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + (day.getUTCDate() > 1 ? 1 : 0));
      const months = Math.max(1, Math.ceil((to - from) / (30.4 * DAY) / Math.max(2, room)));
      const stride = [1, 2, 3, 6, 12].find((each) => each >= months) ?? 12;
      while (time < to) {
        if (new Date(time).getUTCMonth() % stride === 0) found.push(time);
        const next = new Date(time);
        time = Date.UTC(next.getUTCFullYear(), next.getUTCMonth() + 1);
      }
      return found;
    }

    function tickName(value) {
      const day = new Date(value);
      if (end - first < 70 * DAY) return `${day.getUTCDate()} ${month.format(day)}`;
      return day.getUTCMonth() === 0 ? String(day.getUTCFullYear()) : month.format(day);
    }

    function show(index) {
      at = index;
      cursor.hidden = index < 0;
      if (index < 0) {
        read.textContent = said;
        return;
      }
      const time = first + index * step * DAY;
      cursor.style.left = `${chart.convertToPixel({ xAxisIndex: 2 }, time + (step * DAY) / 2)}px`;
      const when = step === 1 ? date.format(time) : `${date.format(time)} and ${step - 1} days after`;
      const lacking = { d: [], n: [] };
      for (const each of strips) lacking[each.states[index]]?.push(each.name);
      const notes = [];
      if (lacking.d.length) notes.push(`denials only: ${lacking.d.join(', ')}`);
      if (lacking.n.length) notes.push(`nothing seen: ${lacking.n.join(', ')}`);
      read.textContent =
        `${when}: ${number.format(allowed[index])} allowed, ${number.format(denied[index])} denied, ` +
        `${counted(changes[index], 'ACL change')}${notes.length ? `; ${notes.join('; ')}` : ''}.`;
    }

    box.addEventListener('pointermove', (event) => {
      const x = event.clientX - box.getBoundingClientRect().left;
      const time = chart.convertFromPixel({ xAxisIndex: 2 }, x);
      const index = Math.floor((time - first) / (step * DAY));
      show(index >= 0 && index < bars ? index : -1);
    });
    box.addEventListener('pointerleave', () => show(-1));
    box.addEventListener('blur', () => show(-1));
    box.addEventListener('keydown', (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30 }[event.key];
      if (event.key === 'Escape') show(-1);
      if (!move || !bars) return;
      event.preventDefault();
      show(clamp(at + move, 0, bars - 1));
    });
    return draw;
  }

  // -- Access: principals by patterns, filtered and zoomed

  function accessChart() {
    const box = byId('access-chart');
    const read = byId('access-read');
    const { principals, patterns, cells } = data.access;
    const chart = chartIn(box);
    const mark = overlay(box, 'mark');
    const UNKNOWN = -1;
    const DENIES = -2;
    let shown = { rows: [], columns: [], cells: [] };
    let chosen = -1;
    let height = 120;
    let onScreen = null;
    let wasPaper = false;

    const patternName = ([type, kind, name]) =>
      `${type === 'TOPIC' ? '' : `${type.toLowerCase()} `}${name}${kind === 'PREFIXED' ? '*' : ''}`;

    function stateOf([, , , , share, denies]) {
      if (denies) return 'deny';
      if (share === null) return 'unknown';
      return share === 1 ? 'used' : 'unused';
    }

    function filter({ text, type, state }) {
      const kept = cells.filter((cell) => {
        const pattern = patterns[cell[1]];
        if (type && pattern[0] !== type) return false;
        if (state && stateOf(cell) !== state) return false;
        return !text || `${principals[cell[0]]}\n${pattern.join(' ')}`.toLowerCase().includes(text);
      });
      const rows = [...new Set(kept.map((cell) => cell[0]))].sort((a, b) => a - b);
      const columns = [...new Set(kept.map((cell) => cell[1]))].sort((a, b) => a - b);
      const rowAt = new Map(rows.map((row, at) => [row, at]));
      const columnAt = new Map(columns.map((column, at) => [column, at]));
      shown = {
        rows,
        columns,
        cells: kept.map((cell) => [columnAt.get(cell[1]), rowAt.get(cell[0]), cell]),
      };
      chosen = -1;
      draw(true);
    }

    function square(ink) {
      return (_, api) => {
        const [x, y] = api.coord([api.value(0), api.value(1)]);
        const [wide, tall] = api.size([1, 1]);
        const edge = Math.max(1, Math.min(wide, tall, 17) - 3);
        const share = api.value(2);
        const left = x - edge / 2;
        const top = y - edge / 2;
        const all = { x: left, y: top, width: edge, height: edge };
        if (share === DENIES) {
          const style = { stroke: ink.ink, lineWidth: 1.5 };
          return {
            type: 'group',
            children: [
              { type: 'line', shape: { x1: left, y1: top, x2: left + edge, y2: top + edge }, style },
              { type: 'line', shape: { x1: left + edge, y1: top, x2: left, y2: top + edge }, style },
            ],
          };
        }
        if (share === UNKNOWN) return { type: 'rect', shape: all, style: { fill: ink.tint } };
        const filled = share === 0 ? 0 : Math.max(1, edge * share);
        return {
          type: 'group',
          children: [
            {
              type: 'rect',
              shape: { x: left, y: top + edge - filled, width: edge, height: filled },
              style: { fill: ink.accent },
            },
            { type: 'rect', shape: all, style: { fill: 'none', stroke: ink.accent, lineWidth: edge > 6 ? 1.25 : 0.75 } },
          ],
        };
      };
    }

    // The cells of the first principals, as many as fit if there is room for `room` patterns.
    function onSheet(room) {
      const columns = new Set();
      let rows = 0;
      for (; rows < shown.rows.length; rows += 1) {
        const more = shown.cells.filter((cell) => cell[1] === rows && !columns.has(cell[0])).map((cell) => cell[0]);
        if (rows && columns.size + new Set(more).size > room) break;
        more.sort((a, b) => a - b).slice(0, room - columns.size).forEach((column) => columns.add(column));
      }
      const order = [...columns].sort((a, b) => a - b);
      const at = new Map(order.map((column, place) => [column, place]));
      const kept = shown.cells.filter((cell) => cell[1] < rows && at.has(cell[0]));
      return {
        rows: shown.rows.slice(0, rows),
        columns: order.map((column) => shown.columns[column]),
        cells: kept.map(([x, y, cell]) => [at.get(x), y, cell]),
      };
    }

    function draw(afresh) {
      const paper = isPaper();
      const ink = inks();
      const all = widthOf(box);
      const isNarrow = all < 500;
      const side = paper ? 12 : 15;
      const letter = paper ? 5.6 : 6.8;
      const longestOf = (names) => Math.max(0, ...names.map((name) => name.length));
      const leftFor = (names) => clamp(longestOf(names) * letter + 14, 60, all * (isNarrow ? 0.36 : 0.22));
      const kindOf = (name) => name?.match(/^[A-Za-z]+:/)?.[0];
      const kind = isNarrow && principals.every((name) => kindOf(name) === kindOf(principals[0])) ? kindOf(principals[0]) : '';
      const rowNames = (part) => part.rows.map((row) => principals[row].slice(kind?.length ?? 0));
      const inner = (left) => Math.max(40, all - left - 30);
      const part = paper ? onSheet(Math.floor(inner(leftFor(rowNames(shown))) / side)) : shown;
      byId('access-paper').textContent = paper
        ? `On paper are ${number.format(part.cells.length)} of ${counted(cells.length, 'cell')}: the first ` +
          `${number.format(part.rows.length)} of ${counted(principals.length, 'principal')}, and ` +
          `${number.format(part.columns.length)} of ${counted(patterns.length, 'pattern')}. The file itself has all.`
        : '';
      const left = leftFor(rowNames(part));
      const columnNames = part.columns.map((column) => patternName(patterns[column]));
      const width = clamp(longestOf(columnNames) * letter, 40, isNarrow ? 120 : 200);
      const top = width * 0.87 + 14;
      const rows = Math.max(1, part.rows.length);
      const columns = Math.max(1, part.columns.length);
      const room = paper ? rows * side : clamp(rows * side, 60, 560);
      height = top + room + (paper ? 4 : 34);
      box.style.height = `${height}px`;
      if (!wasPaper) onScreen = chart.getOption()?.dataZoom;
      wasPaper = paper;
      const label = { color: ink.ink, fontFamily: ink.code, fontSize: paper ? 9 : 11 };
      const slider = {
        type: 'slider',
        showDetail: false,
        showDataShadow: false,
        brushSelect: false,
        filterMode: 'none',
        borderColor: ink.line,
        fillerColor: ink.wash,
        handleSize: '120%',
        handleStyle: { color: ink.paper, borderColor: ink.muted },
        moveHandleSize: 0,
        backgroundColor: 'transparent',
      };
      const inside = {
        type: 'inside',
        filterMode: 'none',
        zoomOnMouseWheel: 'ctrl',
        moveOnMouseWheel: false,
        disabled: matchMedia('(pointer: coarse)').matches,
      };
      const lastOf = (count, space) => (paper || count * side <= space ? count : Math.max(1, Math.floor(space / side))) - 1;
      const xSpan = { startValue: 0, endValue: lastOf(columns, inner(left)) };
      const ySpan = { startValue: 0, endValue: lastOf(rows, room) };
      const kept = (at, span) =>
        afresh || paper || !onScreen ? span : { start: onScreen[at].start, end: onScreen[at].end };
      const axis = (names) => ({
        type: 'category',
        data: names,
        axisLine: { lineStyle: { color: ink.line } },
        axisTick: { show: false },
        splitLine: { show: true, interval: 0, lineStyle: { color: ink.wash } },
      });
      chart.resize({ width: all, height });
      chart.setOption(
        {
          animation: false,
          grid: { left, width: Math.min(inner(left), columns * (paper ? side : 40)), top, height: room },
          xAxis: {
            ...axis(shortened(columnNames, Math.floor(width / letter))),
            position: 'top',
            axisLabel: { ...label, rotate: -60, interval: paper ? 0 : 'auto', width, overflow: 'truncate' },
          },
          yAxis: {
            ...axis(shortened(rowNames(part), Math.floor((left - 12) / letter))),
            inverse: true,
            axisLabel: { ...label, width: left - 8, overflow: 'truncate', interval: paper ? 0 : 'auto' },
          },
          dataZoom: [
            { ...inside, xAxisIndex: 0, ...kept(0, xSpan) },
            { ...inside, yAxisIndex: 0, ...kept(1, ySpan) },
            { ...slider, xAxisIndex: 0, bottom: 4, height: 14, show: !paper && xSpan.endValue + 1 < columns, ...kept(0, xSpan) },
            { ...slider, yAxisIndex: 0, right: 2, width: 14, show: !paper && ySpan.endValue + 1 < rows, ...kept(1, ySpan) },
          ],
          series: [
            {
              type: 'custom',
              animation: false,
              silent: true,
              clip: true,
              encode: { x: 0, y: 1 },
              data: part.cells.map(([x, y, [, , , , share, denies]]) => [
                x,
                y,
                denies ? DENIES : share ?? UNKNOWN,
              ]),
              renderItem: square(ink),
            },
          ],
        },
        true,
      );
      chart.getZr().flush();
      choose(paper ? -1 : chosen);
    }

    function summary() {
      const { cells: kept, rows, columns } = shown;
      const part = `${number.format(kept.length)} of ${counted(cells.length, 'cell')}`;
      return `${part}: ${counted(rows.length, 'principal')}, ${counted(columns.length, 'pattern')}.`;
    }

    function choose(index) {
      chosen = index;
      const found = shown.cells[index];
      mark.hidden = !found;
      if (!found) {
        read.textContent = summary();
        return;
      }
      const [x, y] = chart.convertToPixel({ seriesIndex: 0 }, [found[0], found[1]]);
      const half = 9;
      Object.assign(mark.style, { left: `${x - half}px`, top: `${y - half}px`, width: `${2 * half}px`, height: `${2 * half}px` });
      const [principal, pattern, granted, used, share, denies] = found[2];
      const [type, kind, name] = patterns[pattern];
      const on = `${type} ${kind === 'PREFIXED' ? 'names that begin with ' : ''}${name}`;
      const use = share === null ? 'use unknown' : used ? `used ${used}` : 'used nothing';
      read.textContent = `${principals[principal]} on ${on}: ${denies ? 'denied ' : ''}${granted}${denies ? '' : `; ${use}`}.`;
    }

    function pointed(event) {
      const frame = box.getBoundingClientRect();
      const point = [event.clientX - frame.left, event.clientY - frame.top];
      if (!shown.cells.length || !chart.containPixel({ gridIndex: 0 }, point)) return -1;
      const [x, y] = chart.convertFromPixel({ seriesIndex: 0 }, point);
      return shown.cells.findIndex((cell) => cell[0] === Math.round(x) && cell[1] === Math.round(y));
    }

    function zoom(factor) {
      for (const dataZoomIndex of [0, 1]) {
        const { start, end } = chart.getOption().dataZoom[dataZoomIndex];
        const middle = (start + end) / 2;
        const half = clamp(((end - start) / 2) * factor, 0.5, 50);
        const from = clamp(middle - half, 0, 100 - 2 * half);
        chart.dispatchAction({ type: 'dataZoom', dataZoomIndex, start: from, end: from + 2 * half });
      }
    }

    function reveal(index) {
      const option = chart.getOption();
      shown.cells[index].slice(0, 2).forEach((place, axis) => {
        const { startValue, endValue } = option.dataZoom[axis];
        const move = place < startValue ? place - startValue : place > endValue ? place - endValue : 0;
        if (move) {
          chart.dispatchAction({ type: 'dataZoom', dataZoomIndex: axis, startValue: startValue + move, endValue: endValue + move });
        }
      });
    }

    function step(dx, dy) {
      if (chosen < 0) return 0;
      const [x, y] = shown.cells[chosen];
      let best = chosen;
      let least = Infinity;
      shown.cells.forEach((cell, at) => {
        const along = dx ? (cell[0] - x) * dx : (cell[1] - y) * dy;
        const aside = dx ? cell[1] - y : cell[0] - x;
        const far = along > 0 ? along + 1000 * Math.abs(aside) : Infinity;
        if (far < least) [best, least] = [at, far];
      });
      return best;
    }

    box.addEventListener('pointermove', (event) => choose(pointed(event)));
    box.addEventListener('pointerleave', () => choose(-1));
    box.addEventListener('blur', () => choose(-1));
    box.addEventListener('keydown', (event) => {
      const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (event.key === '+' || event.key === '=') zoom(0.6);
      if (event.key === '-') zoom(1 / 0.6);
      if (event.key === 'Escape') choose(-1);
      if (!move || !shown.cells.length) return;
      event.preventDefault();
      const next = step(...move);
      reveal(next);
      choose(next);
    });
    chart.on('datazoom', () => choose(-1));
    byId('zoom-in').addEventListener('click', () => zoom(0.6));
    byId('zoom-out').addEventListener('click', () => zoom(1 / 0.6));
    return { draw: () => draw(false), filter };
  }

  // -- Filter, copy buttons, and drawing again when the size or the colours change

  function filterOfTables() {
    const sections = [...document.querySelectorAll('section.filtered')].map((section) => {
      const count = section.querySelector('.count');
      const titles = [...section.querySelectorAll('thead th')].map((title) => title.textContent);
      const rows = [...section.querySelectorAll('tbody tr')];
      return { count, said: count.textContent, rows, texts: null, resource: titles.indexOf('Resource') };
    });
    return ({ text, type }) => {
      for (const section of sections) {
        const { count, said, rows, resource } = section;
        const isOf = (row) => row.cells[resource].textContent.split(' ')[0] === type;
        if (text) section.texts ??= rows.map((row) => row.textContent.toLowerCase());
        let kept = 0;
        rows.forEach((row, at) => {
          const fits = (!text || section.texts[at].includes(text)) && (!type || resource < 0 || isOf(row));
          row.hidden = !fits;
          kept += fits;
        });
        const isFiltered = text || (type && resource >= 0);
        count.textContent = isFiltered
          ? `${number.format(kept)} of the ${counted(rows.length, 'row')} shown.`
          : said;
      }
    };
  }

  function wireFilter(filters) {
    const form = byId('filter');
    const apply = () => {
      const wanted = {
        text: byId('filter-text').value.trim().toLowerCase(),
        type: byId('filter-type').value,
        state: byId('filter-state').value,
      };
      for (const filter of filters) filter(wanted);
    };
    let waiting = 0;
    form.addEventListener('input', () => {
      clearTimeout(waiting);
      waiting = setTimeout(apply, 120);
    });
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      apply();
    });
    apply();
  }

  function wireCopies() {
    document.addEventListener('click', (event) => {
      const button = event.target.closest('button.copy');
      if (!button) return;
      const lines = button.nextElementSibling;
      getSelection().selectAllChildren(lines);
      const done = (word) => {
        button.textContent = word;
        setTimeout(() => { button.textContent = 'Copy'; }, 1500);
      };
      if (!navigator.clipboard) return done('Selected');
      navigator.clipboard.writeText(lines.textContent).then(() => done('Copied'), () => done('Selected'));
    });
  }

  const access = accessChart();
  const draws = [windowChart(), access.draw];
  const drawAll = () => {
    document.documentElement.classList.toggle('paper', isPaper());
    draws.forEach((draw) => draw());
  };
  wireFilter([access.filter, filterOfTables()]);
  wireCopies();
  draws[0]();
  let width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth !== width) drawAll();
    width = innerWidth;
  });
  for (const query of ['(prefers-color-scheme: dark)', 'print']) {
    matchMedia(query).addEventListener('change', drawAll);
  }
  for (const [event, begins] of [['beforeprint', true], ['afterprint', false]]) {
    addEventListener(event, () => {
      isPrinting = begins;
      drawAll();
    });
  }
})();
