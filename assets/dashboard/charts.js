// Draws line and bar charts with uPlot, in the page's colours.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const palette = ['--accent', '--info', '--warn', '--bad', '--good'];
const language = document.documentElement.dataset.locale;

/** Returns two number formats: one for the axis and one for the legend. */
function formatsOf(style) {
  const compact = { notation: 'compact', maximumFractionDigits: 1 };
  if (style === 'rate') {
    const percent = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 2 });
    return [percent, percent];
  }
  const currency = typeof style === 'object' && style.currency !== null ? { style: 'currency', ...style } : {};
  return [new Intl.NumberFormat(language, { ...currency, ...compact }), new Intl.NumberFormat(language, currency)];
}

/**
 * Returns two functions that format epoch seconds: one for the axis and one for the legend. If `zone` is null, each
 * value is a whole day.
 */
function timeTextsOf(zone, isLong) {
  const timeZone = zone ?? 'UTC';
  const day = { day: 'numeric', month: 'short', timeZone };
  const hour = { hour: '2-digit', minute: '2-digit', timeZone };
  const formatter = (options) => (at) => new Date(at * 1000).toLocaleString(language, options);
  if (zone === null) return [formatter(day), formatter({ weekday: 'short', ...day })];
  return [formatter(isLong ? day : hour), formatter({ weekday: 'short', ...day, ...hour })];
}

/** Possible distances between the labels of a time axis in whole days, in seconds. Shorter steps would repeat a day. */
const dayIncrements = [1, 2, 3, 7, 14, 28, 56, 91, 182, 365].map((days) => days * 86_400);

/** Possible distances between the labels of a count axis: 1, 2, 5, 10 and so on, never fractions. */
const wholeIncrements = Array.from({ length: 36 }, (_, at) => [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3));

/** Returns uPlot's options for each series. The first series is drawn last, on top of its dashed comparison. */
function seriesOf({ names, dashed, highlighted, kind, data, totals }, legendOf) {
  return names.map((label, index) => {
    const stroke = colour(
      highlighted[index] ? '--bad' : dashed[index] ? '--line-strong' : palette[index % palette.length],
    );
    const isBar = kind === 'bar' && !dashed[index];
    return {
      label,
      stroke,
      width: isBar ? 0 : 2,
      dash: dashed[index] ? [5, 5] : undefined,
      fill: isBar
        ? stroke
        : names.length - dashed.filter(Boolean).length === 1 && !dashed[index]
          ? `${stroke}22`
          : undefined,
      paths: isBar ? uPlot.paths.bars({ size: [0.7, 48] }) : undefined,
      points: highlighted[index] ? { show: true, size: 4, fill: stroke } : { show: !isBar && data[0].length < 3 },
      spanGaps: !highlighted[index],
      // While the pointer is not on the chart, the legend shows the whole period.
      value: (_plot, value, _series, at) =>
        at === null || at === undefined ? totals[index] : value === null || value === undefined ? '–' : legendOf(value),
    };
  });
}

function draw(holder) {
  const chart = JSON.parse(holder.dataset.chart);
  const { data, zone, style } = chart;
  holder.replaceChildren();
  const axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  };
  const [axisFormat, legendFormat] = formatsOf(style);
  const isLong = data[0].at(-1) - data[0][0] > 2 * 86_400;
  const [axisTime, legendTime] = timeTextsOf(zone, isLong);
  new uPlot(
    {
      width: holder.clientWidth,
      height: holder.clientWidth < 480 ? 140 : 240,
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), zone ?? 'UTC'),
      cursor: { y: false, points: { size: 7 } },
      scales: { y: { range: (_plot, min, max) => [Math.min(0, min), max <= 0 ? 1 : max * 1.1] } },
      axes: [
        {
          ...axis,
          ...((zone === null || isLong) && { incrs: dayIncrements }),
          grid: { show: false },
          size: 32,
          values: (_plot, values) => values.map(axisTime),
          space: 70,
        },
        {
          ...axis,
          ...(style === 'count' && { incrs: wholeIncrements }),
          size: 60,
          values: (_plot, values) => values.map((value) => axisFormat.format(value)),
        },
      ],
      series: [
        {
          label: message(zone === null ? 'day' : 'time'),
          value: (_plot, at) => (at === null || at === undefined ? message('period') : legendTime(at)),
        },
        ...seriesOf(chart, (value) => legendFormat.format(value)),
      ],
    },
    data,
    holder,
  );
}

const holders = () => [...document.querySelectorAll('[data-chart]')];
// If uPlot could not be loaded, the data tables below the charts are opened instead.
const drawAll = () => {
  for (const holder of holders()) {
    if (typeof uPlot === 'function') draw(holder);
    else {
      holder.hidden = true;
      holder.nextElementSibling.open = true;
    }
  }
};
drawAll();
document.addEventListener('htmx:afterSettle', drawAll);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
let width = window.innerWidth;
window.addEventListener('resize', () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  drawAll();
});
