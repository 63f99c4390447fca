import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ServerProcess, startServerProcess } from '../test/support/server-process.ts';
import { type Bench, benchBeacons, benchRollupCost } from './beacons.ts';
import { benchConversions } from './conversions.ts';
import { type Costs, costOfEach, createCosts } from './costs.ts';
import { benchEventLog } from './event-log.ts';
import { benchCaps, benchFetch, fetchBody, prepareCaps, prepareFetch, profileFetch } from './fetch.ts';
import { benchImages } from './images.ts';
import { type LoadResult, runLoad } from './load.ts';
import { benchRefresh } from './refresh.ts';
import { type ReportRow, writeReport } from './report.ts';
import { openStage, startBare } from './stage.ts';
import { benchStart } from './start.ts';
import { benchWrapLatency, benchWraps } from './wrap.ts';

/*
 * npm run bench -- [seconds] [part] [--quick]
 *
 * - seconds: duration of each measurement
 * - part: part to measure, such as `wraps`; by default, all parts except those in `inTurns`
 * - --quick: measures every row of every part once, in about a minute on an idle machine, and stores no results
 */
const { values, positionals } = parseArgs({ options: { quick: { type: 'boolean' } }, allowPositionals: true });
const isQuick = values.quick === true;
const seconds = Number(positionals[0] ?? (isQuick ? 0.5 : 8));
const only = positionals[1];
const durationMs = seconds * 1000;
/** Number of rounds in alternating measurements. */
const rounds = isQuick ? 1 : 3;
/** Benchmarks that alternate with a baseline. */
const inTurns = ['caps', 'event-log'];
const isMeasured = (part: string): boolean => (only === undefined ? isQuick || !inTurns.includes(part) : only === part);

/** Cost readers by server port. */
const costsOf = new Map<number, () => Promise<Costs>>();

const stage = await openStage();
const bench: Bench = { measure, seconds, trackCosts };
const rows: ReportRow[] = [];
let profile = '';
try {
  const histories = isQuick ? 20_000 : 1_000_000;
  await prepareFetch(stage, { isMeasured: isMeasured('fetch'), histories });
  if (isMeasured('caps')) await prepareCaps(stage, { histories, haveUsers: isMeasured('fetch') });
  const perkwire = await startServerProcess({ databaseUrl: stage.databaseUrl });
  trackCosts(perkwire);
  const files = await sampleBytes(perkwire.port);
  const bare = await startBare(files.offers, files.image);
  try {
    if (isMeasured('fetch')) rows.push(...(await benchFetch(stage, measure, perkwire.port, bare.port)));
    if (isMeasured('caps')) rows.push(...(await benchCaps(measure, perkwire.port, rounds)));
    if (isMeasured('beacons')) rows.push(...(await benchBeacons(stage, bench, perkwire.port, bare.port)));
    if (isMeasured('wraps')) {
      rows.push(...(await benchWrapLatency(stage, perkwire.port, bare.port)));
      rows.push(...(await benchWraps(stage, measure, { port: perkwire.port, seconds })));
    }
    if (isMeasured('conversions'))
      rows.push(...(await benchConversions(stage, measure, { port: perkwire.port, barePort: bare.port, seconds })));
    if (isMeasured('images')) rows.push(...(await benchImages(stage.pool, measure, perkwire.port)));
  } finally {
    await bare.stop();
    await perkwire.stop();
  }
  if (isMeasured('event-log')) rows.push(...(await benchEventLog(stage, bench, rounds)));
  if (isMeasured('fetch') && !isQuick) profile = await profileFetch(stage, durationMs);
  if (isMeasured('rollups')) rows.push(...(await benchRollupCost(stage, bench)));
} finally {
  await stage.close();
}
if (isMeasured('start')) profile += await benchStart();
await writeReport(isQuick ? null : only === undefined ? 'bench' : `bench-${only}`, rows, profile);
if (!isMeasured('refresh')) process.exit();

const fresh = await openStage();
try {
  await benchRefresh(fresh, { campaigns: 10_000, times: Math.ceil(seconds), isKept: !isQuick });
} finally {
  await fresh.close();
}

function trackCosts({ port, child }: ServerProcess): void {
  costsOf.set(port, createCosts(stage, child.pid as number));
}

/** Fetches response bytes from Perkwire, for the bare server to return. */
async function sampleBytes(port: number): Promise<{ offers: string; image: string }> {
  const answer = await fetch(`http://127.0.0.1:${port}/native/v4/offers.json?api_key=bench-100`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: fetchBody('sample'),
  });
  const text = await answer.text();
  const { data } = JSON.parse(text) as { data: { offers: { pixel: string }[] } };
  const pixel = new URL((data.offers[0] as { pixel: string }).pixel);
  const image = await fetch(`http://127.0.0.1:${port}${pixel.pathname}${pixel.search}`);
  const files = { offers: join(stage.folder, 'offers.json'), image: join(stage.folder, 'pixel.png') };
  await writeFile(files.offers, text);
  await writeFile(files.image, Buffer.from(await image.arrayBuffer()));
  return files;
}

async function measure(
  what: string,
  connections: number,
  port: number,
  next: () => string | Buffer,
): Promise<LoadResult> {
  await runLoad({ port, connections, durationMs: Math.min(5000, durationMs), next }); // until the code is compiled
  const readCosts = costsOf.get(port);
  const before = await readCosts?.();
  const result = await runLoad({ port, connections, durationMs, next });
  const after = await readCosts?.();
  if (before !== undefined && after !== undefined) result.costs = costOfEach(before, after, result.requests);
  process.stderr.write(
    `${what}: ${Math.round(result.perS)}/s, p50 ${result.p50Ms.toFixed(2)} ms, ` +
      `p99 ${result.p99Ms.toFixed(2)} ms, failed ${result.failed}\n`,
  );
  return result;
}
