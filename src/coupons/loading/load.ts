import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { createValueSet, type ValueSet } from '../../platform/files/value-set.ts';
import { createPacer } from '../../platform/lib/slices.ts';
import { problem } from '../../platform/problem.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { blockSize, insertBlocks, type NewBlock, readAllCodes } from '../blocks.ts';
import { maxCodeLength } from '../code-text.ts';
import { markStock } from '../pools.ts';
import type { Line } from './lines.ts';

/**
 * Result of a load: the numbers of added codes and of duplicates. `duplicateCodes` lists the first duplicates, which
 * the pool already contained.
 */
export type Loaded = { added: number; duplicates: number; duplicateCodes: { line: number; code: string }[] };

/**
 * Maximum number of codes per pool, including issued ones. The limit exists because duplicate detection uses 16 bytes
 * of memory per code.
 */
const maxPoolCodes = 20_000_000;

/** Maximum number of duplicates and rejected lines that a response lists. */
const maxNamed = 100;
const blocksAtOnce = 25;
/** Maximum number of duplicates to redraw per requested code when codes are generated. */
const maxMisses = 20;
/** Number of lines between progress reports. `lookEvery` is the number of lines between checks of whether to pause. */
const reportEvery = 250_000;
const linesPerClockCheck = 256;

export type LoadDeps = { pool: pg.Pool; secretBox: SecretBox; now: () => number };

/**
 * Source of the codes to load:
 * - `lines`: the codes; null marks a point where the load may pause.
 * - `total`: approximate number of lines.
 * - `codeLimit`: number of codes after which to stop.
 * - `path`: returns the path of a line in error details, such as `/lines/4`.
 */
export type CodeSource = {
  offerId: number;
  lines: Iterable<Line | null> | AsyncIterable<Line | null>;
  /** Called after all lines were read. Throws if the codes must not be added. */
  check?: () => void;
  total: number;
  codeLimit?: number;
  path: (line: number) => string;
};

/**
 * Adds codes to a pool: all of them, or none if any line is invalid. Codes that the pool contains or used to contain
 * are skipped and reported. New codes are stored in blocks after the end of the stock, and the end is moved in the same
 * transaction. Only one load per pool can run at a time, but codes can be issued to users in the meantime.
 * @throws AppError invalid_request with the invalid lines; conflict while another load is running; resource_not_found
 */
export async function loadCodes(deps: LoadDeps, source: CodeSource): Promise<Loaded> {
  const { offerId } = source;
  try {
    return await transaction(deps.pool, async (executor) => {
      const first = await beginLoad(executor, offerId);
      const { result, refused } = await readCodes(deps, executor, source, first);
      if (refused.length > 0) throw new AppError('invalid_request', { details: refused });
      if (result.added > 0)
        await executor.query('update coupon_stock set last_position = last_position + $2 where offer_id = $1', [
          offerId,
          result.added,
        ]);
      if (result.added > 0) await markStock(executor, offerId, deps.now());
      return result;
    });
  } finally {
    await deps.pool.query('delete from coupon_loads where offer_id = $1', [offerId]).catch(() => {});
  }
}

/** SQL that tries to acquire a pool's load lock, which is required to move the end of its stock. */
export const loadLockSql = "pg_try_advisory_xact_lock(hashtext('perkwire_coupons'), offer_id)";

/**
 * Acquires a pool's load lock.
 * @returns the position of the first new code
 */
async function beginLoad(executor: Executor, offerId: number): Promise<number> {
  const { rows } = await executor.query<{ is_free: boolean }>(
    `select ${loadLockSql} as is_free from coupon_stock where offer_id = $1`,
    [offerId],
  );
  if (rows[0] === undefined) throw new AppError('resource_not_found');
  if (!rows[0].is_free) throw new AppError('conflict', { message: problem('codesLoading') });
  const { rows: stocks } = await executor.query<{ first: string }>(
    'select last_position + 1 as first from coupon_stock where offer_id = $1',
    [offerId],
  );
  return Number(stocks[0]?.first);
}

async function readCodes(deps: LoadDeps, executor: Executor, source: CodeSource, first: number) {
  const { offerId, lines, path, codeLimit = maxPoolCodes, check } = source;
  const pace = createPacer();
  const stayActive = createHeartbeat(executor);
  const knownSet = await knownCodes(deps, executor, offerId, pace);
  const result: Loaded = { added: 0, duplicates: 0, duplicateCodes: [] };
  const refused: ErrorDetail[] = [];
  const blocks = createBlockWriter(deps, executor, { offerId, first });
  let lineCount = 0;
  for await (const codeLine of lines) {
    if (codeLine === null) {
      await pace();
      await stayActive();
      continue;
    }
    const { bytes, start, end, line, problem: message } = codeLine;
    if (result.added === codeLimit) break;
    if (message !== null) {
      if (refused.length < maxNamed) refused.push({ path: path(line), message });
    } else if (!knownSet.add(bytes, start, end)) {
      result.duplicates += 1;
      if (result.duplicates > maxMisses * codeLimit)
        throw new AppError('invalid_request', {
          details: [{ path: path(line), message: problem('patternUsed') }],
        });
      if (result.duplicateCodes.length < maxNamed)
        result.duplicateCodes.push({ line, code: bytes.toString('utf8', start, end) });
    } else {
      if (knownSet.size() > maxPoolCodes)
        throw new AppError('conflict', { message: problem('poolFull', { max: maxPoolCodes }) });
      result.added += 1;
      if (blocks.add(bytes, start, end)) await blocks.store();
    }
    lineCount += 1;
    if (lineCount % linesPerClockCheck === 0) await pace();
    if (lineCount % reportEvery === 0) await report(deps, { offerId, received: lineCount, total: source.total });
  }
  check?.();
  await blocks.end();
  return { result, refused };
}

/**
 * Maximum time between two statements in the load transaction, in milliseconds. PostgreSQL terminates transactions that
 * are idle for five seconds.
 */
const heartbeatMs = 1000;

function createHeartbeat(executor: Executor): () => Promise<void> {
  let lastMs = performance.now();
  return async () => {
    if (performance.now() - lastMs < heartbeatMs) return;
    await executor.query('select 1');
    lastMs = performance.now();
  };
}

/**
 * Counts the duplicate codes in a file: codes that are repeated in the file, or that the pool contains or used to
 * contain.
 */
export async function countDuplicates(
  deps: LoadDeps,
  offerId: number,
  lines: AsyncIterable<Line | null>,
): Promise<number> {
  const pace = createPacer();
  const knownSet = await knownCodes(deps, deps.pool, offerId, pace);
  let duplicates = 0;
  for await (const line of lines) {
    if (line === null) await pace();
    else if (!knownSet.add(line.bytes, line.start, line.end)) duplicates += 1;
  }
  return duplicates;
}

async function knownCodes(
  { secretBox }: LoadDeps,
  executor: Executor,
  offerId: number,
  pace: () => Promise<unknown>,
): Promise<ValueSet> {
  const knownSet = createValueSet();
  for await (const codes of readAllCodes(executor, secretBox, offerId)) {
    const text = Buffer.from(codes.join('\n'));
    for (let start = 0; start < text.length; ) {
      const lineEnd = text.indexOf(10, start);
      const end = lineEnd < 0 ? text.length : lineEnd;
      knownSet.add(text, start, end);
      start = end + 1;
    }
    await pace();
  }
  return knownSet;
}

/** Creates a writer that collects codes into blocks. `add` returns whether there are enough blocks to store. */
function createBlockWriter(
  { secretBox }: LoadDeps,
  executor: Executor,
  { offerId, first }: { offerId: number; first: number },
) {
  const text = Buffer.allocUnsafe(blockSize * (4 * maxCodeLength + 1));
  let length = 0;
  let size = 0;
  let next = first;
  let waiting: NewBlock[] = [];
  const close = (): void => {
    waiting.push({ first: next, size, text: text.toString('utf8', 0, length - 1) });
    next += size;
    length = 0;
    size = 0;
  };
  const store = async (): Promise<void> => {
    if (waiting.length > 0) await insertBlocks(executor, secretBox, offerId, waiting);
    waiting = [];
  };
  return {
    add: (bytes: Buffer, start: number, end: number): boolean => {
      length += bytes.copy(text, length, start, end);
      text[length++] = 10;
      size += 1;
      if (size === blockSize) close();
      return waiting.length === blocksAtOnce;
    },
    store,
    end: async (): Promise<void> => {
      if (size > 0) close();
      await store();
    },
  };
}

/** Records the progress of a load outside its transaction, so that other connections can see it. */
async function report({ pool, now }: LoadDeps, { offerId, received, total }: Record<string, number>): Promise<void> {
  await pool.query(
    `insert into coupon_loads (offer_id, received, total, seen_at) values ($1, $2, $3, $4)
    on conflict (offer_id) do update set received = excluded.received, total = excluded.total,
      seen_at = excluded.seen_at`,
    [offerId, received, total, new Date(now())],
  );
}
