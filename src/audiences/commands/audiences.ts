import { createApi, openFile, say } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';

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
  if (key === '' || rest.length > 0) throw usageError('Name one audience by its key.');
  const body = { key, name: textOption(call, 'name') || key };
  return say(call, await createApi(call).call('POST', path, { body }));
};

export const importFile: Run = async (call) => {
  const [key = '', file = '', ...rest] = call.args;
  if (key === '' || file === '' || rest.length > 0) throw usageError('Name an audience by its key, and one file.');
  const lines = await openFile(call, file);
  const answer = (await createApi(call).call('POST', `${pathOf(key)}/import`, { file: lines })) as {
    data: { rows: number; bad: number; added: number; errors: { line: number; message: string }[] };
  };
  const { rows, bad, added, errors } = answer.data;
  call.out.data(answer.data);
  call.out.line(`${rows} rows, ${added} users added, ${bad} rows not read.`);
  for (const { line, message } of errors) call.out.note(`line ${line}: ${message}`);
  return exitCodes.ok;
};

export const add: Run = (call) => change(call, 'PUT');
export const remove: Run = (call) => change(call, 'DELETE');

async function change(call: Call, method: 'PUT' | 'DELETE'): Promise<number> {
  const [key = '', ...users] = call.args;
  if (key === '' || users.length === 0) throw usageError('Name an audience by its key, and users by their ids.');
  const body = call.options.emails === true ? { sha256_emails: users } : { ids: users };
  return say(call, await createApi(call).call(method, `${pathOf(key)}/members`, { body }));
}
