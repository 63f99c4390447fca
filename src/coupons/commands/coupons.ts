import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createApi } from '../../command-line/api.ts';
import { type Call, CommandError, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';
import { counted } from '../../command-line/counted.ts';
import { fileQueryOf, printDryRun, printErrors } from '../../command-line/file-options.ts';
import type { DryRunView, FileCounter } from '../../platform/files/counter.ts';
import { readFileOptions } from '../../platform/files/query.ts';
import { openCodeFile } from '../loading/code-file.ts';
import { partsOf } from '../loading/parts.ts';
import type { ListedPool } from '../pool-list.ts';

type Stock = Record<'total' | 'given' | 'held' | 'left' | 'redeemed', number> & { low: boolean };
type Added = Stock &
  Pick<DryRunView, 'bad' | 'errors' | 'warnings'> & {
    added: number;
    duplicate_count: number;
    duplicates: { line: number; code: string }[];
  };

/** Maximum file size for a single API call, in bytes. Larger files are sent in parts of about this size. */
const maxCallBytes = 60 * 1024 * 1024;

const codesPath = (offer: string): string => `/manage/v1/offers/${offer}/coupon-codes`;

/**
 * Returns the offer ID from the command arguments.
 * @throws CommandError if the arguments are invalid
 */
function offerOf({ args }: Call, most: number): string {
  const [offer = '', ...rest] = args;
  if (!/^[1-9]\d{0,8}$/.test(offer) || rest.length > most) throw usageError('Expected one offer ID.');
  return offer;
}

/** Adds coupon codes. A file that is too large for a single API call is parsed locally and uploaded in parts. */
export const addCoupons: Run = async (call) => {
  const offer = offerOf(call, 1);
  const [, file] = call.args;
  const [pattern, shared] = [textOption(call, 'pattern'), textOption(call, 'shared')];
  if ([file ?? '', pattern, shared].filter((source) => source !== '').length !== 1)
    throw usageError('Expected a file, or --pattern with --count, or --shared.');
  const api = createApi(call);
  const total = { added: 0, duplicates: 0, bad: 0 };
  const send = async (request: Parameters<typeof api.call>[2]): Promise<void> => {
    const { data } = (await api.call('POST', codesPath(offer), request)) as { data: Added };
    total.added += data.added;
    total.duplicates += data.duplicate_count;
    total.bad += data.bad;
    for (const { code } of data.duplicates.slice(0, 10)) call.out.note(`  duplicate: ${code}`);
    for (const { message } of data.warnings) call.out.note(message);
    printErrors(call, data.errors);
  };
  if (file === undefined) {
    await send({ body: pattern === '' ? { shared } : { pattern, count: Number(textOption(call, 'count')) } });
  } else if ((await stat(file)).size <= maxCallBytes) {
    const request = { query: fileQueryOf(call), file: await readFile(file) };
    if (call.options['dry-run'] === true) {
      const { data } = (await api.call('POST', codesPath(offer), request)) as { data: DryRunView };
      return printDryRun(call, data);
    }
    await send(request);
  } else {
    const { isDryRun, isPartial, ...layout } = readFileOptions(fileQueryOf(call));
    const whole = await openCodeFile(createReadStream(file), layout);
    for await (const _ of whole.lines); // consume the lines to count the rows
    if (isDryRun) return printDryRun(call, whole.counter.view());
    requireFewBad(whole.counter, isPartial);
    const parts = partsOf((await openCodeFile(createReadStream(file), layout)).lines, maxCallBytes);
    for (let part = await parts.next(); part.done !== true; ) {
      const sent = send({ query: { header: 'present' }, file: part.value });
      [part] = await Promise.all([parts.next(), sent]); // the next part is read while the server stores this one
      call.out.note(`${total.added} of ${whole.counter.rows()} added`);
    }
    total.bad += whole.counter.bad();
  }
  call.out.data(total);
  call.out.line(
    `Added ${counted(total.added, 'code')}. Skipped ${counted(total.duplicates, 'duplicate')} and ` +
      `${counted(total.bad, 'invalid row')}.`,
  );
  return exitCodes.ok;
};

function requireFewBad(counter: FileCounter, isPartial: boolean): void {
  try {
    counter.requireFewBad(isPartial);
  } catch (err) {
    throw new CommandError(exitCodes.refused, (err as Error).message);
  }
}

export const showCoupons: Run = async (call) => {
  const offer = offerOf(call, 0);
  const { data } = (await createApi(call).call('GET', codesPath(offer))) as { data: Stock };
  call.out.data(data);
  for (const name of ['total', 'given', 'held', 'left', 'redeemed'] as const)
    call.out.line(`${String(data[name]).padStart(10)}  ${name}`);
  if (!data.low) return exitCodes.ok;
  call.out.note('The stock is low.');
  return exitCodes.problem;
};

/** Lists the pools of all offers. */
export const listCoupons: Run = async (call) => {
  if (call.args.length > 0) throw usageError('This command takes no arguments.');
  const state = textOption(call, 'state');
  const query = state === '' ? {} : { state };
  const pools = await createApi(call).all<ListedPool>('/manage/v1/coupon-pools', query);
  call.out.data(pools);
  for (const { offer_id: id, offer, ...pool } of pools) {
    const stock = pool.kind === 'shared' ? 'shared code' : `${pool.left} left`;
    const end = pool.expires_at === null ? '' : `  expires ${pool.expires_at}`;
    const uses = `${pool.given} assigned  ${pool.redeemed} redeemed${end}`;
    call.out.line(`offer ${id}  ${offer}  ${pool.state}  ${stock}  ${uses}`);
  }
  if (pools.length === 0) call.out.note('No offer has a matching coupon pool.');
  return pools.some((pool) => pool.state === 'empty' || pool.state === 'expired') ? exitCodes.problem : exitCodes.ok;
};

export const removeCoupons: Run = async (call) => {
  const offer = offerOf(call, 0);
  const isPool = call.options.pool === true;
  const path = isPool ? `/manage/v1/offers/${offer}/coupon-pool` : codesPath(offer);
  const api = createApi(call);
  const { data } = (await api.call('DELETE', path)) as { data: { removed?: number; left?: number } };
  call.out.data(data);
  if (isPool) call.out.line('Removed the coupon pool of the offer. The offer is shown without codes.');
  else if (data.removed === 0) call.out.line('The offer has no codes that could be removed.');
  else call.out.line(`Removed ${counted(data.removed ?? 0, 'code')}.`);
  if (!isPool && data.left === 0 && data.removed !== 0) call.out.note(await emptyText(api, offer));
  return exitCodes.ok;
};

/** Returns what happens to an offer whose pool is empty. */
async function emptyText(api: ReturnType<typeof createApi>, offer: string): Promise<string> {
  const { data } = (await api.call('GET', `/manage/v1/offers/${offer}/coupon-pool`)) as {
    data: { has_fallback: boolean };
  };
  return data.has_fallback
    ? 'The pool is now empty. Users get its fallback code.'
    : 'The pool is now empty. The offer is paused until you add codes.';
}
