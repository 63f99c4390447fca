import { open } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApi } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';

const [exportPath, erasurePath] = ['/manage/v1/privacy/export', '/manage/v1/privacy/erasure'];
const askEveryMs = 1000;

type Erasure = { id: string; status: string; requested_at: string; erased: Record<string, number> };

/** API field names by command-line option. */
const options = { user: 'pub_user_id', 'ad-fp': 'ad_fp', email: 'email', 'email-sha256': 'email_sha256' };

/**
 * Reads the user's identifier from the command-line options.
 * @throws CommandError
 */
async function personOf(call: Call): Promise<object> {
  const identifiers = Object.entries(options).flatMap(([option, field]) => {
    const text = textOption(call, option);
    return text === '' ? [] : [{ field, text }];
  });
  const [first] = identifiers;
  if (first === undefined || identifiers.length > 1)
    throw usageError('Expected one of --user ID, --ad-fp ID, --email ADDRESS or --email-sha256 HASH.');
  const id = first.text === '-' ? (await readAll(call.stdin)).trim() : first.text;
  if (id === '') throw usageError('Standard input contains no identifier.');
  return { [first.field]: id };
}

async function read(call: Call): Promise<object> {
  const body = await personOf(call);
  const { data } = (await createApi(call).call('POST', exportPath, { body })) as { data: object };
  return data;
}

const countsOf = (data: object): [string, number][] =>
  Object.entries(data).flatMap(([kind, rows]): [string, number][] =>
    Array.isArray(rows) ? [[kind, rows.length]] : [],
  );

/** Reports what data is stored about a user. Exits with code 1 if none exists. */
export const findUser: Run = async (call) => {
  const data = await read(call);
  const counts = countsOf(data);
  call.out.data(Object.fromEntries(counts));
  for (const [kind, count] of counts) if (count > 0) call.out.line(`${String(count).padStart(6)}  ${kind}`);
  if (counts.some(([, count]) => count > 0)) return exitCodes.ok;
  call.out.line('No data is stored for this identifier.');
  return exitCodes.problem;
};

export const exportUser: Run = async (call) => {
  const [file, ...rest] = call.args;
  if (file === undefined || rest.length > 0) throw usageError('Expected one file.');
  const data = await read(call);
  await writePrivately(file, `${JSON.stringify(data, null, 1)}\n`);
  call.out.data({ file });
  call.out.line(`Exported the data to ${file}.`);
  return exitCodes.ok;
};

/** Writes a file that only its owner can read, even if the file existed before. */
async function writePrivately(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    if ((await file.stat()).isFile()) await file.chmod(0o600);
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

export const eraseUser: Run = async (call) => {
  const body = await personOf(call);
  const api = createApi(call);
  const { data } = (await api.call('POST', erasurePath, { body })) as { data: Erasure };
  call.out.line(`Created erasure ${data.id}. A worker finishes it within a minute; Ctrl-C does not stop it.`);
  let erasure = data;
  while (erasure.status !== 'done') {
    await sleep(askEveryMs, undefined, { signal: call.signal });
    erasure = ((await api.call('GET', `${erasurePath}/${data.id}`)) as { data: Erasure }).data;
  }
  call.out.data(erasure);
  call.out.line(
    `Erased: ${Object.entries(erasure.erased)
      .map(([kind, count]) => `${kind} ${count}`)
      .join(', ')}.`,
  );
  return exitCodes.ok;
};

export const listRequests: Run = async (call) => {
  const { data } = (await createApi(call).call('GET', erasurePath)) as { data: Erasure[] };
  for (const erasure of data) {
    call.out.data(erasure);
    call.out.line(`${erasure.requested_at}  ${erasure.id}  ${erasure.status}`);
  }
  if (data.length === 0) call.out.line('No requests.');
  return exitCodes.ok;
};
