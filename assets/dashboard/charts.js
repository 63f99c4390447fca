// Line charts with uPlot, in the colours of the page.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const palette = ['--accent', '--info', '--warn'];

function draw(holder) {
  const { data, names } = JSON.parse(holder.dataset.chart);
  holder.replaceChildren();
  const axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  };
  const day = (_plot, values) =>
    values.map((at) =>
      new Date(at * 1000).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' }),
    );
  const short = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 });
  new uPlot(
    {
      width: holder.clientWidth,
      height: 240,
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), 'UTC'),
      cursor: { y: false, points: { size: 7 } },
      scales: { y: { range: (_plot, _min, max) => [0, max === 0 ? 1 : max * 1.1] } },
      axes: [
        { ...axis, grid: { show: false }, values: day, space: 70 },
        { ...axis, size: 52, values: (_plot, values) => values.map((value) => short.format(value)) },
      ],
      series: [
        { label: 'Day', value: (_plot, at) => (at === null ? '–' : day(null, [at])[0]) },
        ...names.map((label, index) => ({
          label,
          stroke: colour(palette[index % palette.length]),
          width: 2,
          fill: names.length === 1 ? `${colour('--accent')}22` : undefined,
          points: { show: data[0].length < 3 },
        })),
      ],
    },
    data,
    holder,
  );
}

const holders = [...document.querySelectorAll('[data-chart]')];
const drawAll = () => holders.forEach(draw);
// Without the library, the tables below the charts are opened instead.
if (typeof uPlot === 'function') drawAll();
else
  for (const holder of holders) {
    holder.hidden = true;
    holder.nextElementSibling.open = true;
  }
matchMedia('(prefers-color-scheme: dark)').addEventListener(
  'change',
  () => holders.some(({ hidden }) => hidden) || drawAll(),
);
let width = window.innerWidth;
window.addEventListener('resize', () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  drawAll();
});
