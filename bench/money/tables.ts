import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { play } from './play.ts';
import { engine, type Policy, uniform } from './policies.ts';
import { plainThompson } from './random/policies.ts';
import { logisticPerOffer } from './rivals.ts';
import { cpcOffers, uniforms, type World, worldOf } from './world.ts';

/*
 * npm run bench:money -- tables FOLDER [SEEDS] [ANSWERS] [TABLE]
 *
 * Uses classification tables as worlds. Each class is an offer, the columns are custom attributes, and a click is
 * likely if the offer matches the row's class. FOLDER contains one CSV file per table, with the class in the first
 * column. The published figures use tables from Debian's r-cran-mlbench, exported with R:
 *
 * library(mlbench)
 * for (t in c("Glass", "LetterRecognition", "Satellite", "Shuttle", "Soybean", "Vehicle", "Vowel", "Zoo")) {
 *   data(list = t); d <- get(t); class <- names(d) %in% c("lettr", "classes", "Class", "type", "Type")
 *   write.csv(d[c(which(class), which(!class))], paste0("FOLDER/", t, ".csv"), row.names = FALSE, quote = FALSE)
 * }
 */
const folder = process.argv[3] ?? '.';
const [seeds, only] = [Number(process.argv[4] ?? 2), process.argv[6] ?? ''];
/** Number of responses per run. A shorter table is repeated, in a different order each time. */
const rounds = Number(process.argv[5] ?? 20_000);

/** Maximum number of bins of about equal size for a numeric column. */
const maxBins = 8;

type TableRow = { label: string; custom: Map<string, string> };

function readTable(path: string): TableRow[] {
  const [head = '', ...lines] = readFileSync(path, 'utf8').trim().split('\n');
  const cells = lines.map((line) => line.split(','));
  const columns = head.split(',').map((_, at) => textsOf(cells.map((row) => row[at] as string)));
  return cells.map(([label = ''], row) => ({
    label,
    custom: new Map(
      columns.slice(1).flatMap((column, key) => {
        const text = column[row] as string;
        return text === 'NA' ? [] : [[`a${key}`, text] as const];
      }),
    ),
  }));
}

/** Returns column values as an app would send them, with numbers replaced by their bin. */
function textsOf(values: readonly string[]): readonly string[] {
  const numbers = values.filter((value) => value !== 'NA').map(Number);
  if (numbers.some(Number.isNaN) || new Set(numbers).size <= maxBins) return values;
  numbers.sort((a, b) => a - b);
  const bounds = Array.from(
    { length: maxBins - 1 },
    (_, k) => numbers[Math.floor(((k + 1) * numbers.length) / maxBins)],
  );
  return values.map((value) =>
    value === 'NA' ? value : `${bounds.filter((bound) => Number(value) >= (bound as number)).length}`,
  );
}

const labelsOf = (rows: readonly TableRow[]): string[] => [...new Set(rows.map(({ label }) => label))].sort();

/**
 * Creates a world from table rows.
 * @param rates click rate of the offer that matches the row's class, and of all other offers
 */
function tableWorld(rows: readonly TableRow[], rates: readonly [number, number], seed: number): World {
  const labels = labelsOf(rows);
  const u = uniforms(seed);
  const order: TableRow[] = [];
  for (let pass = 0; order.length < rounds; pass++)
    order.push(
      ...rows
        .map((row, at) => ({ row, place: u(pass, at) }))
        .sort((a, b) => a.place - b.place)
        .map(({ row }) => row),
    );
  return worldOf({
    name: 'table',
    what: '',
    answers: rounds,
    offers: cpcOffers(labels.length),
    asker: (at) => ({ custom: (order[at] as TableRow).custom }),
    clickRate: (offer, _asker, at) => rates[(order[at] as TableRow).label === labels[offer] ? 0 : 1],
  });
}

const policies: Record<string, (world: World, seed: number) => Policy> = {
  uniform,
  'plain Thompson': plainThompson,
  'logistic per offer': logisticPerOffer,
  Perkwire: engine,
};

/** Returns the share of responses with the correct offer in the second half of a run. */
function rightOf(world: World, policy: Policy, seed: number): number {
  let right = 0;
  play(
    world,
    policy,
    seed,
    ({ choices, best }) => {
      if (choices[0] === best[0]) right += 1;
    },
    rounds / 2,
  );
  return right / (rounds / 2);
}

const lines: string[] = [];
for (const file of readdirSync(folder)
  .filter((name) => name.endsWith('.csv') && name.includes(only))
  .sort()) {
  const rows = readTable(join(folder, file));
  const counts = labelsOf(rows).map((name) => rows.filter(({ label }) => label === name).length);
  for (const rates of [
    [1, 0],
    [0.3, 0.02],
  ] as const) {
    const shares = Object.values(policies).map((create) => {
      let sum = 0;
      for (let seed = 1; seed <= seeds; seed++) {
        const world = tableWorld(rows, rates, seed);
        sum += rightOf(world, create(world, seed), seed);
      }
      return ((100 * sum) / seeds).toFixed(1);
    });
    const fixed = ((100 * Math.max(...counts)) / rows.length).toFixed(1);
    const sizes = [rows.length, counts.length, Math.max(...rows.map(({ custom }) => custom.size))];
    lines.push(`| ${[basename(file, '.csv'), ...sizes, rates.join('/'), fixed, ...shares].join(' | ')} |`);
    process.stdout.write(`${lines.at(-1)}\n`);
  }
}
const name = rounds === 20_000 ? 'tables' : `tables-${rounds}`;
const text = `# ${name}

Public classification tables (bench/money/tables.ts lists their sources). Each class is an offer and each column a
custom attribute; numbers are divided into at most ${maxBins} groups. If the offer is the row's class, it is clicked at
the first of the two rates, otherwise at the second, 5 s after the impression on average. Each run has 100 responses per
second and ${rounds} responses in total. Smaller tables are repeated in a different order each time. Figures are means
of ${seeds} runs: the percentage of responses in the second half that show the right offer. The logistic sampler stores
the full covariance of each offer, and learns immediately if no click will come. DNA is excluded: it has 180 columns,
but ranking learns from at most 50 attributes of a publisher.

| Table | rows | classes | columns | rates | best fixed offer | ${Object.keys(policies).join(' | ')} |
| --- | --- | --- | --- | --- | --- | ${Object.keys(policies)
  .map(() => '---')
  .join(' | ')} |
${lines.join('\n')}
`;
if (only === '') writeFileSync(`bench/results/${name}.md`, text);
