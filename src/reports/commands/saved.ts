import { text as readAll } from 'node:stream/consumers';
import { createApi, printResponse } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';

type SavedReport = { id: number; name: string; query: string };
type ReportRun = { data: { rows: Record<string, string | number | null>[] } };

const path = '/manage/v1/saved-reports';

/** Lists the saved reports of the publisher. */
export const listReports: Run = async (call) => {
  const { data } = (await createApi(call).call('GET', path)) as { data: SavedReport[] };
  call.out.data(data);
  for (const { id, name, query } of data) call.out.line(`${id}  ${name}  ${query}`);
  return exitCodes.ok;
};

/** Saves a report with the query string of the report page, or its whole URL. */
export const saveReport: Run = async (call) => {
  const [name, query, ...rest] = call.args;
  if (name === undefined || query === undefined || rest.length > 0)
    throw usageError('Expected a name and the query string of the report page.');
  const body = { name, query: query.replace(/^[^?]*\?/, '') };
  return printResponse(call, await createApi(call).call('POST', path, { body }));
};

/** Prints the rows of a saved report as a table with tabs, or as CSV. */
export const runReport: Run = async (call) => {
  const at = `${path}/${idIn(call)}/run`;
  const api = createApi(call);
  if (textOption(call, 'format') === 'csv') {
    const csv = await readAll(await api.stream(`${at}?format=csv`, call.signal));
    call.out.data({ csv });
    call.out.line(csv.trimEnd());
    return exitCodes.ok;
  }
  const { data } = (await api.call('GET', at)) as ReportRun;
  call.out.data(data);
  const [first] = data.rows;
  if (first !== undefined) call.out.line(Object.keys(first).join('\t'));
  for (const row of data.rows) call.out.line(Object.values(row).join('\t'));
  return exitCodes.ok;
};

/** Deletes a saved report. */
export const removeReport: Run = async (call) =>
  printResponse(call, await createApi(call).call('DELETE', `${path}/${idIn(call)}`));

/**
 * Returns the ID of the report in the arguments.
 * @throws CommandError if there is none, or if there is more than one
 */
function idIn({ args }: Call): string {
  const [id = '', ...rest] = args;
  if (rest.length > 0 || !/^[1-9]\d{0,8}$/.test(id)) throw usageError('Expected the ID of a saved report.');
  return id;
}
