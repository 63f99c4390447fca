import { createApi, openFile, printResponse, readJsonFile } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';
import { fileQueryOf, printDryRun, printErrors } from '../../command-line/file-options.ts';
import { jsonText } from '../../command-line/output.ts';
import type { DryRunView } from '../../platform/files/counter.ts';

const path = '/manage/v1/exchange-rates';

type Rates = { base: string | null; rates: { currency: string; rate: number; valid_from: string }[] };

/**
 * Returns the query parameters that select a publisher.
 * @throws CommandError if the publisher ID is missing or malformed
 */
function queryOf(publisher: string): Record<string, string> {
  if (!/^[1-9]\d{0,8}$/.test(publisher)) throw usageError('Expected a numeric publisher ID.');
  return { publisher_id: publisher };
}

/** Prints exchange rates as JSON, in the format that `rates set` reads. */
export const showRates: Run = async (call) => {
  const [publisher = '', ...rest] = call.args;
  if (rest.length > 0) throw usageError('Expected one publisher ID.');
  const { data } = (await createApi(call).call('GET', path, { query: queryOf(publisher) })) as { data: Rates };
  const file = { base: data.base, rates: data.rates };
  call.out.data(file);
  call.out.line(jsonText(file, 1));
  return exitCodes.ok;
};

/** Replaces a publisher's exchange rates with the rates in a JSON file. */
export const setRates: Run = async (call: Call) => {
  const [publisher = '', file = '', ...rest] = call.args;
  if (file === '' || rest.length > 0) throw usageError('Expected a publisher ID and one file.');
  const query = queryOf(publisher);
  const body = await readJsonFile(call, file);
  return printResponse(call, await createApi(call).call('PUT', path, { body, query }));
};

type Imported = { data: DryRunView & { base: string; changed: number; removed: number } };

/**
 * Imports a publisher's exchange rates from a delimited file. The rates either replace the existing ones or are added
 * to them.
 */
export const importRates: Run = async (call) => {
  const [publisher = '', name = '', ...rest] = call.args;
  if (name === '' || rest.length > 0) throw usageError('Expected a publisher ID and one file.');
  const base = textOption(call, 'base');
  const query = {
    ...queryOf(publisher),
    ...fileQueryOf(call),
    ...(base !== '' && { base }),
    ...(call.options['decimal-comma'] === true && { decimal: 'comma' }),
    ...(call.options.replace === true && { replace: 'true' }),
  };
  const file = await openFile(call, name);
  const { data } = (await createApi(call).call('POST', `${path}/import`, { query, file })) as Imported;
  const summary = `${data.changed} rates with base ${data.base}, ${data.removed} removed`;
  if (call.options['dry-run'] === true) {
    call.out.line(`Would store ${summary}.`);
    return printDryRun(call, data);
  }
  call.out.data(data);
  call.out.line(`Stored ${summary}.`);
  printErrors(call, data.errors);
  return exitCodes.ok;
};
