import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startServerProcess } from '../test/support/server-process.ts';
import { benchBeacons, benchRollupCost } from './beacons.ts';
import { benchConversions } from './conversions.ts';
import { type Costs, costOfEach, createCosts } from './costs.ts';
import { benchCaps, benchFetch, fetchBody, prepareCaps, prepareFetch, profileFetch } from './fetch.ts';
import { benchImages } from './images.ts';
import { type LoadResult, runLoad } from './load.ts';
import { benchRefresh } from './refresh.ts';
import { type Row, writeReport } from './report.ts';
import { openStage, startBare } from './stage.ts';
import { benchWrapLatency, benchWraps } from './wrap.ts';

/** Seconds of each measurement; `npm run bench -- 3` for a short look. */
const seconds = Number(process.argv[2] ?? 8);
/** The only part that is measured, such as `wraps`; all but `caps` when none is given. */
const only = process.argv[3];
const isMeasured = (part: string): boolean => only === undefined || only === part;
const durationMs = seconds * 1000;

/** By the port of the server. */
const costsOf = new Map<number, () => Promise<Costs>>();

const stage = await openStage();
const rows: Row[] = [];
let profile = '';
try {
  await prepareFetch(stage, isMeasured('fetch'));
  if (only === 'caps') await prepareCaps(stage);
  const perkwire = await startServerProcess({ databaseUrl: stage.databaseUrl });
  costsOf.set(perkwire.port, createCosts(stage, perkwire.child.pid as number));
  const files = await sampleBytes(perkwire.port);
  const bare = await startBare(files.offers, files.image);
  try {
    if (isMeasured('fetch')) rows.push(...(await benchFetch(stage, measure, perkwire.port, bare.port)));
    if (only === 'caps') rows.push(...(await benchCaps(measure, perkwire.port)));
    if (isMeasured('beacons'))
      rows.push(...(await benchBeacons(stage, { measure, seconds }, perkwire.port, bare.port)));
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
  if (isMeasured('fetch')) profile = await profileFetch(stage, durationMs);
  if (isMeasured('rollups')) rows.push(...(await benchRollupCost(stage, { measure, seconds })));
} finally {
  await stage.close();
}
await writeReport(only === undefined ? 'bench' : `bench-${only}`, rows, profile);
if (!isMeasured('refresh')) process.exit();

const fresh = await openStage();
try {
  await benchRefresh(fresh, { campaigns: 10_000, times: seconds });
} finally {
  await fresh.close();
}

/** The bytes the bare server answers with: those of Perkwire. */
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
