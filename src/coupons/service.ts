import type { Actor, Management, Work } from '../management/unit-of-work.ts';
import { AppError, type ErrorDetail } from '../platform/errors.ts';
import type { DryRunView, FileWarning } from '../platform/files/counter.ts';
import type { FileOptions } from '../platform/files/query.ts';
import { problem } from '../platform/problem.ts';
import { refuseCode } from './code-text.ts';
import { openCodeFile } from './loading/code-file.ts';
import { codesOf, guessOdds, linesOf, makeCodes, safeOdds } from './loading/lines.ts';
import {
  type CodeSource,
  countDuplicates,
  type LoadDeps,
  type Loaded,
  loadCodes,
  loadLockSql,
} from './loading/load.ts';
import { type ListedPool, listPools } from './pool-list.ts';
import {
  auditCodes,
  changePool,
  ensurePool,
  findPool,
  forgetOdds,
  markStock,
  noteOdds,
  type PoolView,
  removePool,
  requireOffer,
  requirePool,
  shareCode,
} from './pools.ts';
import { noStock, readStock, removeUngiven, type StockView } from './stock.ts';

/** Maximum upload size per call, in bytes: enough for four million codes of 15 characters. */
export const maxUploadBytes = 64 * 1024 * 1024;

/**
 * Maximum number of codes that can be generated per call. `minChoice` is the minimum number of possible codes per
 * generated code, which makes codes hard to guess.
 */
const maxMade = 1_000_000;
const minChoice = 10;

type LoadedView = StockView & {
  added: number;
  duplicate_count: number;
  duplicates: Loaded['duplicateCodes'];
  /** Number of file rows that were rejected. */
  bad: number;
  errors: DryRunView['errors'];
  warnings: FileWarning[];
};

/**
 * Operations on an offer's coupon codes. `id` is the offer ID from the request. All operations can throw
 * resource_not_found.
 */
export type CouponService = {
  /**
   * Adds the codes that the request body describes.
   * @throws AppError invalid_request, conflict
   */
  add: (actor: Actor, publisherId: number, id: string, requestBody: unknown) => Promise<LoadedView>;
  /**
   * Adds the codes in a file.
   * @throws AppError ambiguous_header, unknown_header, invalid_request, conflict
   */
  addFile: (actor: Actor, publisherId: number, id: string, bytes: Buffer, options: FileOptions) => Promise<LoadedView>;
  /** Returns the result that `addFile` would have, without adding codes. */
  checkFile: (
    actor: Actor,
    publisherId: number,
    id: string,
    bytes: Buffer,
    options: FileOptions,
  ) => Promise<DryRunView>;
  count: (actor: Actor, publisherId: number, id: string) => Promise<StockView>;
  /** Returns the pools of all offers of the publisher, in the order of the offers' IDs. */
  list: (actor: Actor, publisherId: number) => Promise<ListedPool[]>;
  /**
   * Returns how many possible codes there would be for each valid one if codes were made from a pattern.
   * @throws AppError invalid_request
   */
  oddsOf: (actor: Actor, publisherId: number, id: string, pattern: string, count: number) => Promise<number>;
  /**
   * Removes the codes that were not issued.
   * @throws AppError conflict while codes are being loaded
   */
  removeCodes: (actor: Actor, publisherId: number, id: string) => Promise<StockView & { removed: number }>;
  pool: (actor: Actor, publisherId: number, id: string) => Promise<PoolView>;
  /**
   * Changes the pool settings.
   * @throws AppError invalid_request
   */
  change: (actor: Actor, publisherId: number, id: string, changes: unknown) => Promise<PoolView>;
  removePool: (actor: Actor, publisherId: number, id: string) => Promise<{ offer_id: number }>;
};

export function createCouponService(deps: LoadDeps & { management: Management }): CouponService {
  const { management, secretBox } = deps;

  const load = (actor: Actor, publisherId: number, id: string, source: Omit<CodeSource, 'offerId'>) =>
    addCodes(deps, { actor, publisherId, id }, source);

  async function share(actor: Actor, publisherId: number, id: string, code: string): Promise<LoadedView> {
    const problem = refuseCode(code);
    if (problem !== null) throw invalid([{ path: '/shared', message: problem }]);
    return management.write(actor, publisherId, async (work) => {
      const offerId = await requireOffer(work, id);
      await ensurePool(work, offerId);
      await shareCode(work, offerId, code);
      return { ...(await stockOf(work, offerId)), added: 1, duplicate_count: 0, duplicates: [], ...noFile };
    });
  }

  return {
    add: async (actor, publisherId, id, requestBody) => {
      await management.read(actor, publisherId, (work) => requireOffer(work, id));
      const input = readInput(requestBody);
      if ('shared' in input) return share(actor, publisherId, id, input.shared);
      if ('codes' in input) {
        const { codes } = input;
        const path = (line: number): string => `/codes/${line - 1}`;
        return load(actor, publisherId, id, { lines: linesOf(codes), total: codes.length, path });
      }
      const { pattern, count } = input;
      const loaded = await load(actor, publisherId, id, {
        lines: makeCodes(pattern),
        total: count,
        codeLimit: count,
        path: () => '/pattern',
      });
      const odds = guessOdds(pattern, loaded.total);
      const stock = await management.write(actor, publisherId, async (work) => {
        const offerId = await requireOffer(work, id);
        await noteOdds(work.executor, offerId, odds);
        return stockOf(work, offerId);
      });
      return { ...loaded, ...stock, warnings: weakPattern(odds) };
    },
    addFile: (actor, publisherId, id, bytes, options) => addFile(deps, { actor, publisherId, id }, bytes, options),
    checkFile: async (actor, publisherId, id, bytes, options) => {
      const offerId = await management.read(actor, publisherId, (work) => requireOffer(work, id));
      const { lines, counter } = await openCodeFile(bytes, options);
      const duplicates = await countDuplicates(deps, offerId, lines);
      return { ...counter.view(), duplicates };
    },
    count: (actor, publisherId, id) =>
      management.read(actor, publisherId, async (work) => stockOf(work, await requireOffer(work, id))),
    list: (actor, publisherId) =>
      management.read(actor, publisherId, ({ executor, nowMs }) => listPools(executor, publisherId, nowMs)),
    oddsOf: async (actor, publisherId, id, pattern, count) => {
      readPattern(pattern, count);
      const { total } = await management.read(actor, publisherId, async (work) =>
        stockOf(work, await requireOffer(work, id)),
      );
      return guessOdds(pattern.trim(), total + count);
    },
    removeCodes: (actor, publisherId, id) =>
      management.write(actor, publisherId, async (work) => {
        const offerId = await requireOffer(work, id);
        const before = await findPool(work.executor, offerId);
        if (before === null) return { ...(await stockOf(work, offerId)), removed: 0 };
        await requireNoLoad(work, offerId);
        const removed = await removeUngiven(work.executor, secretBox, offerId, work.nowMs);
        const unshared = before.kind === 'shared' ? 1 : 0;
        if (unshared > 0)
          await work.executor.query('update coupon_pools set shared_code = null where offer_id = $1', [offerId]);
        await markStock(work.executor, offerId, work.nowMs);
        await forgetOdds(work.executor, offerId);
        if (removed + unshared > 0) await auditCodes(work, offerId, { removed: removed + unshared });
        return { ...(await stockOf(work, offerId)), removed: removed + unshared };
      }),
    pool: (actor, publisherId, id) =>
      management.read(actor, publisherId, async (work) => requirePool(work.executor, await requireOffer(work, id))),
    change: (actor, publisherId, id, changes) =>
      management.write(actor, publisherId, async (work) => {
        const offerId = await requireOffer(work, id);
        await ensurePool(work, offerId);
        return changePool(work, secretBox, offerId, changes);
      }),
    removePool: (actor, publisherId, id) =>
      management.write(actor, publisherId, async (work) => {
        const offerId = await requireOffer(work, id);
        await requireNoLoad(work, offerId);
        await removePool(work, offerId);
        return { offer_id: offerId };
      }),
  };
}

type ServiceDeps = LoadDeps & { management: Management };

async function addFile(deps: ServiceDeps, call: Call, bytes: Buffer, options: FileOptions): Promise<LoadedView> {
  await deps.management.read(call.actor, call.publisherId, (work) => requireOffer(work, call.id));
  const { lines, counter } = await openCodeFile(bytes, options);
  const added = await addCodes(deps, call, {
    lines,
    total: Math.ceil(bytes.length / 16),
    path: (line) => `/lines/${line}`,
    check: () => counter.requireFewBad(options.isPartial),
  });
  const { bad, errors, warnings } = counter.view();
  return { ...added, bad, errors, warnings };
}

const noFile = { bad: 0, errors: [], warnings: [] };

/** Returns a warning if the codes that a pattern generates are easy to guess. */
function weakPattern(odds: number): FileWarning[] {
  if (odds >= safeOdds) return [];
  const message = `One guess in ${odds} is a valid code. Use a longer pattern: one in ${safeOdds} is safe.`;
  return [{ code: 'weak_pattern', message, count: odds }];
}

type Call = { actor: Actor; publisherId: number; id: string };

/** Loads codes outside the call's transaction, which would otherwise block catalogue changes for seconds. */
async function addCodes(
  deps: LoadDeps & { management: Management },
  { actor, publisherId, id }: Call,
  source: Omit<CodeSource, 'offerId'>,
): Promise<LoadedView> {
  const { management } = deps;
  const { offerId, isNew } = await management.write(actor, publisherId, async (work) => {
    const offerId = await requireOffer(work, id);
    const isNew = await ensurePool(work, offerId);
    const pool = await requirePool(work.executor, offerId);
    if (pool.kind === 'shared') throw new AppError('conflict', { message: problem('poolIsShared') });
    return { offerId, isNew };
  });
  try {
    const loaded = await loadCodes(deps, { ...source, offerId });
    return await management.write(actor, publisherId, async (work) => {
      await auditCodes(work, offerId, { added: loaded.added });
      const { added, duplicates, duplicateCodes } = loaded;
      return {
        ...(await stockOf(work, offerId)),
        added,
        duplicate_count: duplicates,
        duplicates: duplicateCodes,
        ...noFile,
      };
    });
  } catch (err) {
    // If adding codes fails, remove the pool created above, because an empty pool would pause the offer.
    if (isNew) await management.write(actor, publisherId, (work) => removePool(work, offerId)).catch(() => {});
    throw err;
  }
}

async function requireNoLoad({ executor }: Work, offerId: number): Promise<void> {
  const { rows } = await executor.query<{ is_free: boolean }>(
    `select ${loadLockSql} as is_free from coupon_stock where offer_id = $1`,
    [offerId],
  );
  if (rows[0]?.is_free === false) throw new AppError('conflict', { message: problem('codesLoading') });
}

async function stockOf({ executor, nowMs }: Work, offerId: number): Promise<StockView> {
  const [stock] = await readStock(executor, { offerId }, nowMs);
  return stock?.view ?? noStock;
}

const invalid = (details: ErrorDetail[]): AppError => new AppError('invalid_request', { details });

type Input = { codes: string[] } | { shared: string } | { pattern: string; count: number };
const names = ['codes', 'shared', 'pattern', 'count'];

/**
 * Parses the request body.
 * @throws AppError invalid_request
 */
function readInput(requestBody: unknown): Input {
  const body = (typeof requestBody === 'object' && requestBody !== null ? requestBody : {}) as Record<string, unknown>;
  const details: ErrorDetail[] = Object.keys(body)
    .filter((name) => !names.includes(name))
    .map((name) => ({ path: `/${name}`, message: problem('noFieldOfCall') }));
  const { codes, shared, pattern, count } = body;
  if ([codes, shared, pattern].filter((value) => value !== undefined).length !== 1)
    details.push({ path: '/', message: problem('oneSourceOfCodes') });
  if (details.length > 0) throw invalid(details);
  if (codes !== undefined) return { codes: readList(codes) };
  if (count !== undefined && pattern === undefined)
    throw invalid([{ path: '/count', message: problem('needsPattern') }]);
  if (shared !== undefined) {
    if (typeof shared !== 'string') throw invalid([{ path: '/shared', message: problem('isText') }]);
    return { shared: shared.trim() };
  }
  return readPattern(pattern, count);
}

function readList(codes: unknown): string[] {
  if (!Array.isArray(codes) || codes.length === 0) throw invalid([{ path: '/codes', message: problem('codesList') }]);
  const other = codes.findIndex((code) => typeof code !== 'string');
  if (other >= 0) throw invalid([{ path: `/codes/${other}`, message: problem('isText') }]);
  return codes as string[];
}

function readPattern(pattern: unknown, count: unknown): Input {
  const details: ErrorDetail[] = [];
  const text = typeof pattern === 'string' ? pattern.trim() : '';
  const message = typeof pattern === 'string' ? refuseCode(text) : problem('isText');
  if (message !== null) details.push({ path: '/pattern', message });
  const isCount = typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= maxMade;
  if (!isCount) details.push({ path: '/count', message: problem('wholeFromOne', { max: maxMade }) });
  else if (message === null && codesOf(text) < minChoice * count)
    details.push({
      path: '/pattern',
      message: problem('patternShort', { codes: codesOf(text), count, need: minChoice * count }),
    });
  if (details.length > 0) throw invalid(details);
  return { pattern: text, count: count as number };
}
