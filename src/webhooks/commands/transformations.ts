import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { createApi } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';
import { byteOrderMark } from '../../platform/lib/csv.ts';

type Transformation = { body?: string; headers?: string };

const pathOf = (endpoint: string): string => `/manage/v1/webhook-endpoints/${encodeURIComponent(endpoint)}`;

/** Returns the endpoint and an optional file of a command. */
function argumentsOf({ args }: Call, maxCount: number): { endpoint: string; file: string } {
  const [endpoint = '', file = ''] = args;
  if (endpoint === '' || args.length > maxCount)
    throw usageError(maxCount === 1 ? 'Expected one endpoint.' : 'Expected an endpoint, and at most one file.');
  return { endpoint, file };
}

/**
 * Reads the expressions in the files of a command. The file name `-` means standard input.
 * @returns the transformation, or null if no file is given
 */
async function readExpressions(call: Call, bodyFile: string): Promise<Transformation | null> {
  const headersFile = textOption(call, 'headers');
  if (bodyFile === '-' && headersFile === '-') throw usageError('Only one of the files can be standard input.');
  const read = async (file: string): Promise<string> => {
    const expression = file === '-' ? await readAll(call.stdin) : await readFile(file, 'utf8');
    return expression.replace(byteOrderMark, '').trim();
  };
  if (bodyFile === '' && headersFile === '') return null;
  return {
    ...(bodyFile !== '' && { body: await read(bodyFile) }),
    ...(headersFile !== '' && { headers: await read(headersFile) }),
  };
}

/** Prints the transformation of an endpoint. */
export const showTransformation: Run = async (call) => {
  const { endpoint } = argumentsOf(call, 1);
  const { data } = (await createApi(call).call('GET', pathOf(endpoint))) as {
    data: { transformation: Transformation | null };
  };
  const { transformation } = data;
  call.out.data({ transformation });
  if (transformation === null) call.out.line('This endpoint has no transformation.');
  if (transformation?.body !== undefined) call.out.line(`Body:\n${transformation.body}`);
  if (transformation?.headers !== undefined) call.out.line(`Headers:\n${transformation.headers}`);
  return exitCodes.ok;
};

async function save(
  call: Call,
  endpoint: string,
  transformation: Transformation | null,
  done: string,
): Promise<number> {
  await createApi(call).call('PATCH', pathOf(endpoint), { body: { transformation } });
  call.out.data({ transformation });
  call.out.line(done);
  return exitCodes.ok;
}

/** Replaces the transformation of an endpoint with the expressions in files. */
export const setTransformation: Run = async (call) => {
  const { endpoint, file } = argumentsOf(call, 2);
  const transformation = await readExpressions(call, file);
  if (transformation === null) throw usageError('Expected a file with the body expression, or --headers.');
  return save(call, endpoint, transformation, 'Saved. The next attempt of each delivery uses this transformation.');
};

/** Removes the transformation of an endpoint. */
export const removeTransformation: Run = async (call) => {
  const { endpoint } = argumentsOf(call, 1);
  return save(call, endpoint, null, 'Removed. Events are sent unchanged.');
};

type Preview = {
  body: string | null;
  headers: Record<string, string>;
  error: { part: string | null; message: string; position: number | null } | null;
};

/** Applies the saved transformation, or the one in files, to a stored delivery or a sample. Nothing is sent. */
export const previewTransformation: Run = async (call) => {
  const { endpoint, file } = argumentsOf(call, 2);
  const transformation = await readExpressions(call, file);
  const body = {
    ...(transformation !== null && { transformation }),
    delivery_id: textOption(call, 'delivery') || undefined,
    event: textOption(call, 'event') || undefined,
  };
  const { data } = (await createApi(call).call('POST', `${pathOf(endpoint)}/transformation/preview`, { body })) as {
    data: Preview;
  };
  const { error, headers } = data;
  call.out.data(data);
  if (error === null) {
    for (const [name, value] of Object.entries(headers)) call.out.line(`${name}: ${value}`);
    call.out.line(`\n${data.body ?? ''}`);
    return exitCodes.ok;
  }
  const place = [error.part, error.position === null ? null : `character ${error.position}`];
  const prefix = place.filter((part) => part !== null).join(', ');
  call.out.line(prefix === '' ? error.message : `${prefix}: ${error.message}`);
  return exitCodes.problem;
};
