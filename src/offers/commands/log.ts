import { createApi } from '../../command-line/api.ts';
import { type Call, exitCodes, idOption, type Run, textOption, usageError } from '../../command-line/command.ts';

const path = '/manage/v1/api-log';

type LoggedCall = {
  at: string;
  method: string;
  path: string;
  status: number;
  ms: number;
  code: string | null;
  fields: string[];
  request_id: string;
  key_name: string | null;
};
type Group = {
  method: string;
  route: string;
  status: number;
  code: string | null;
  calls: number;
  slow: number;
  last_at: string;
};

/** Prints a publisher's calls, newest first, or their number by route and result. */
export const showLog: Run = async (call) => {
  const status = textOption(call, 'status');
  if (status !== '' && !/^([1-5](\d\d|xx)|slow)$/.test(status))
    throw usageError(`"${status}" is not a status such as 404 or 4xx, or "slow".`);
  const days = idOption(call, 'days');
  const filter = {
    ...(days !== null && { days }),
    ...(status !== '' && { status }),
    ...optional(call, 'code'),
    ...optional(call, 'route'),
  };
  return call.options.groups === true ? printGroups(call, filter) : printCalls(call, filter);
};

const optional = (call: Call, name: string): Record<string, string> => {
  const value = textOption(call, name);
  return value === '' ? {} : { [name]: value };
};

type Filter = Readonly<Record<string, string | number>>;

async function printCalls(call: Call, filter: Filter): Promise<number> {
  const { out } = call;
  const requestId = textOption(call, 'request');
  const query = { ...filter, ...(requestId !== '' && { request_id: requestId, days: 30 }) };
  const { data } = (await createApi(call).call('GET', path, { query })) as { data: LoggedCall[] };
  for (const logged of data) {
    const { at, method, path: to, status, ms, code, fields, request_id: id, key_name: key } = logged;
    const reason = [code, ...fields].filter((part) => part !== null).join(' ');
    out.data(logged);
    out.line(
      [at, id, method, to, status, `${Math.round(ms)} ms`, key ?? '', reason].filter((part) => part !== '').join('  '),
    );
  }
  if (data.length === 0 && requestId !== '') {
    out.note('No call with this request ID is stored. Most accepted calls are only counted, as are calls in a flood.');
    return exitCodes.problem;
  }
  return exitCodes.ok;
}

async function printGroups(call: Call, query: Filter): Promise<number> {
  const { data } = (await createApi(call).call('GET', `${path}/groups`, { query })) as { data: Group[] };
  for (const group of data) {
    const { method, route, status, code, calls, slow, last_at: at } = group;
    const slowText = slow === 0 ? '' : `${slow} slow`;
    call.out.data(group);
    call.out.line(
      [String(calls).padStart(8), status, code ?? '', method, route, slowText, `last ${at}`]
        .filter((part) => part !== '')
        .join('  '),
    );
  }
  return exitCodes.ok;
}
