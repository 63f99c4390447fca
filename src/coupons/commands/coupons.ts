import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createApi } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';

type Stock = Record<'total' | 'given' | 'held' | 'left' | 'redeemed', number> & { low: boolean };
type Added = Stock & { added: number; duplicate_count: number; duplicates: { line: number; code: string }[] };

/** Bytes of a call: a million codes or more, and less than what a call takes. */
const partBytes = 32 * 1024 * 1024;

const codesPath = (offer: string): string => `/manage/v1/offers/${offer}/coupon-codes`;

/** @throws CommandError */
function offerOf({ args }: Call, most: number): string {
  const [offer = '', ...rest] = args;
  if (!/^[1-9]\d{0,8}$/.test(offer) || rest.length > most) throw usageError('Name one offer by its id.');
  return offer;
}

/** A large file goes in parts, one after the other: duplicates are found across them. */
export const addCoupons: Run = async (call) => {
  const offer = offerOf(call, 1);
  const [, file] = call.args;
  const [pattern, shared] = [textOption(call, 'pattern'), textOption(call, 'shared')];
  if ([file ?? '', pattern, shared].filter((one) => one !== '').length !== 1)
    throw usageError('Name a file, or --pattern with --count, or --shared.');
  const api = createApi(call);
  const total = { added: 0, duplicates: 0 };
  const send = async (asked: { body: unknown } | { file: Buffer }): Promise<Added> => {
    const { data } = (await api.call('POST', codesPath(offer), asked)) as { data: Added };
    total.added += data.added;
    total.duplicates += data.duplicate_count;
    return data;
  };
  if (file === undefined) {
    await send({ body: pattern === '' ? { shared } : { pattern, count: Number(textOption(call, 'count')) } });
  } else {
    const { size } = await stat(file);
    let sent = 0;
    for await (const part of partsOf(file)) {
      const { duplicates } = await send({ file: part });
      sent += part.length;
      call.out.note(`${Math.floor((100 * sent) / size)} %: ${total.added} added`);
      for (const { code } of duplicates.slice(0, 10)) call.out.note(`  there already: ${code}`);
    }
  }
  call.out.data(total);
  call.out.line(`Added ${total.added} codes; ${total.duplicates} were there already.`);
  return exitCodes.ok;
};

/** A file in parts that end with a line. */
async function* partsOf(file: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(file, { highWaterMark: 4 * 1024 * 1024 })) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    if (rest.length < partBytes) continue;
    const end = rest.lastIndexOf(10) + 1;
    if (end === 0) continue;
    yield rest.subarray(0, end);
    rest = rest.subarray(end);
  }
  if (rest.length > 0) yield rest;
}

export const showCoupons: Run = async (call) => {
  const offer = offerOf(call, 0);
  const { data } = (await createApi(call).call('GET', codesPath(offer))) as { data: Stock };
  call.out.data(data);
  for (const name of ['total', 'given', 'held', 'left', 'redeemed'] as const)
    call.out.line(`${String(data[name]).padStart(10)}  ${name}`);
  if (!data.low) return exitCodes.ok;
  call.out.note('Few are left.');
  return exitCodes.problem;
};

export const removeCoupons: Run = async (call) => {
  const offer = offerOf(call, 0);
  const isPool = call.options.pool === true;
  const path = isPool ? `/manage/v1/offers/${offer}/coupon-pool` : codesPath(offer);
  const { data } = (await createApi(call).call('DELETE', path)) as { data: { removed?: number } };
  call.out.data(data);
  call.out.line(isPool ? 'The offer has no codes any more.' : `Removed ${data.removed} codes.`);
  return exitCodes.ok;
};
