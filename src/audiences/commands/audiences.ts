import { createApi, openFile, printResponse, readJsonFile } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';
import { counted } from '../../command-line/counted.ts';
import { fileQueryOf, printDryRun, printErrors } from '../../command-line/file-options.ts';
import type { DryRunView } from '../../platform/files/counter.ts';

const path = '/manage/v1/audiences';
const pathOf = (key: string): string => `${path}/${encodeURIComponent(key)}`;

type Audience = { key: string; name: string; size: number; rule: object | null };
type Page = { data: Audience[]; next_cursor: string | null };

export const list: Run = async (call) => {
  if (call.args.length > 0) throw usageError('This command takes no arguments.');
  const api = createApi(call);
  for (let cursor: string | undefined; ; ) {
    const { data, next_cursor: next } = (await api.call('GET', path, { query: { cursor } })) as Page;
    for (const audience of data) {
      call.out.data(audience);
      const { key, name, size, rule } = audience;
      call.out.line(`${String(size).padStart(10)}  ${key}  ${name}${rule === null ? '' : '  (rule)'}`);
    }
    if (next === null) return exitCodes.ok;
    cursor = next;
  }
};

export const create: Run = async (call) => {
  const [key = '', ...rest] = call.args;
  if (key === '' || rest.length > 0) throw usageError('Expected one audience key.');
  const body = { key, name: textOption(call, 'name') || key };
  return printResponse(call, await createApi(call).call('POST', path, { body }));
};

export const importFile: Run = async (call) => {
  const [key = '', file = '', ...rest] = call.args;
  if (key === '' || file === '' || rest.length > 0) throw usageError('Expected an audience key and one file.');
  const lines = await openFile(call, file);
  const request = { query: fileQueryOf(call), file: lines };
  const { data } = (await createApi(call).call('POST', `${pathOf(key)}/import`, request)) as {
    data: DryRunView & { added: number };
  };
  if (call.options['dry-run'] === true) return printDryRun(call, data);
  call.out.data(data);
  call.out.line(
    `${counted(data.rows, 'row')}, ${counted(data.added, 'user')} added, ${counted(data.bad, 'row')} skipped.`,
  );
  for (const { message } of data.warnings) call.out.note(message);
  printErrors(call, data.errors);
  return exitCodes.ok;
};

export const add: Run = (call) => change(call, 'PUT');
export const remove: Run = (call) => change(call, 'DELETE');

async function change(call: Call, method: 'PUT' | 'DELETE'): Promise<number> {
  const [key = '', ...users] = call.args;
  if (key === '' || users.length === 0) throw usageError('Expected an audience key and user IDs.');
  const body = call.options.emails === true ? { sha256_emails: users } : { ids: users };
  return printResponse(call, await createApi(call).call(method, `${pathOf(key)}/members`, { body }));
}

export const estimate: Run = async (call) => {
  const [file = '', ...rest] = call.args;
  if (file === '' || rest.length > 0) throw usageError('Expected one file with a rule.');
  const body = { rule: await readJsonFile(call, file) };
  const { data } = (await createApi(call).call('POST', `${path}/estimate`, { body })) as {
    data: { users: number; by_times: readonly { times: number; users: number }[] };
  };
  call.out.data(data);
  call.out.line(`${counted(data.users, 'user')} would be members now.`);
  for (const { times, users } of data.by_times) call.out.line(`  at least ${counted(times, 'event')}: ${users}`);
  return exitCodes.ok;
};

export const check: Run = async (call) => {
  const [key = '', user = '', ...rest] = call.args;
  if (user === '' || rest.length > 0) throw usageError('Expected an audience key and a user ID.');
  const body = call.options.emails === true ? { sha256_email: user } : { id: user };
  const { data } = (await createApi(call).call('POST', `${pathOf(key)}/members/check`, { body })) as {
    data: { is_member: boolean; expires_at: string | null; events: readonly string[] };
  };
  call.out.data(data);
  call.out.line(data.is_member ? 'The user is a member.' : 'The user is not a member.');
  if (data.expires_at !== null) call.out.line(`Member until ${data.expires_at}.`);
  for (const event of data.events) call.out.line(`  ${event}`);
  return exitCodes.ok;
};

export const overlap: Run = async (call) => {
  const [key = '', other = '', ...rest] = call.args;
  if (other === '' || rest.length > 0) throw usageError('Expected two audience keys.');
  const { data } = (await createApi(call).call('GET', `${pathOf(key)}/overlap`, { query: { with: other } })) as {
    data: { users: number; size: number; other_size: number };
  };
  call.out.data(data);
  call.out.line(`${counted(data.users, 'user')} in both (${key}: ${data.size}, ${other}: ${data.other_size}).`);
  return exitCodes.ok;
};

export const uses: Run = async (call) => {
  const [key = '', ...rest] = call.args;
  if (key === '' || rest.length > 0) throw usageError('Expected one audience key.');
  const { data } = (await createApi(call).call('GET', `${pathOf(key)}/uses`)) as {
    data: readonly { kind: string; id?: number; key?: string; name: string; side?: string }[];
  };
  call.out.data(data);
  for (const use of data) call.out.line(`${use.kind} ${use.id ?? use.key}  ${use.name}  ${use.side ?? ''}`.trimEnd());
  if (data.length === 0) call.out.note('Nothing uses the audience.');
  return exitCodes.ok;
};
