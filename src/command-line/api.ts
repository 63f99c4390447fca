import { open, readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { byteOrderMark } from '../platform/lib/csv.ts';
import { parseExactJson } from '../platform/lib/exact-json.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { type Call, CommandError, exitCodes, type Input, idOption, textOption, usageError } from './command.ts';
import type { Output } from './output.ts';

type ApiRequest = {
  query?: Readonly<Record<string, string | number | undefined>>;
  body?: unknown;
  /** CSV file to send instead of a JSON body, complete or in chunks. */
  file?: Buffer | AsyncIterable<Uint8Array>;
  /** Multipart form to send instead of a JSON body. */
  form?: FormData;
  /** Signal that aborts the call. Defaults to the signal that is aborted when the user stops the command. */
  signal?: AbortSignal;
};

/** Client for the service's API, authenticated with the caller's key. */
export type Api = {
  url: string;
  /**
   * Calls the API.
   * @returns the parsed JSON response, or null if the response has no body
   * @throws CommandError with the service's error message
   */
  call: (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, request?: ApiRequest) => Promise<unknown>;
  /** Fetches all pages of a list and returns its rows. */
  all: <Row>(path: string, query?: Readonly<Record<string, string>>) => Promise<Row[]>;
  /** Sends a call and returns its response, whatever the status. */
  send: (method: string, path: string, request?: ApiRequest) => Promise<Response>;
  /** Opens a streaming response. */
  stream: (path: string, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
};

const defaultUrl = 'http://localhost:8080';

/**
 * Creates an API client from the options and environment of a command.
 * @throws CommandError if the key is missing or an option is invalid
 */
export function createApi(call: Call): Api {
  const { env } = call;
  const url = (textOption(call, 'url') || env.PERKWIRE_URL || defaultUrl).replace(/\/+$/, '');
  const key = textOption(call, 'key') || env.PERKWIRE_KEY || '';
  const publisher = idOption(call, 'publisher');
  if (!/^https?:\/\//.test(url) || parseUrl(url) === null)
    throw usageError(`${url} is not a valid service URL, such as ${defaultUrl}. Set --url or PERKWIRE_URL.`);
  if (key === '') throw usageError('This command requires an API key. Set PERKWIRE_KEY or --key.');
  if (!/^[\x21-\x7e]+$/.test(key)) throw usageError('The API key contains invalid characters. Copy it again.');

  async function send(
    method: string,
    path: string,
    { query = {}, body, file, form, signal }: ApiRequest = {},
  ): Promise<Response> {
    const target = new URL(url + path);
    // Do not abort calls that start after the user has stopped the command, because they clean up.
    const until = signal ?? (call.signal.aborted ? undefined : call.signal);
    for (const [name, value] of Object.entries({ publisher_id: publisher ?? undefined, ...query }))
      if (value !== undefined) target.searchParams.set(name, String(value));
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(file !== undefined && { 'content-type': 'text/csv' }),
    };
    return fetch(target, {
      method,
      headers,
      redirect: 'manual',
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(file !== undefined && { body: bodyOf(file), duplex: 'half' as const }),
      ...(form !== undefined && { body: form }),
      ...(until !== undefined && { signal: until }),
    }).catch((err: Error) => {
      if (until?.aborted) throw err;
      const reason = (err.cause as { code?: string } | undefined)?.code ?? err.message;
      throw new CommandError(
        exitCodes.unavailable,
        `${url} did not respond (${reason}). Start the service, or set --url or PERKWIRE_URL.`,
      );
    });
  }

  async function ask(method: string, path: string, request: ApiRequest): Promise<Response> {
    const answer = await send(method, path, request);
    if (!answer.ok) throw await refusal(answer, url);
    return answer;
  }

  const callOnce: Api['call'] = async (method, path, request = {}) => {
    const answer = await ask(method, path, request);
    if (answer.status === 204) return null;
    return answer.json().catch((err: Error) => {
      if (err.name === 'AbortError') throw err;
      throw new CommandError(exitCodes.unavailable, `The response from ${url} is incomplete or not JSON.`);
    });
  };

  return {
    url,
    call: callOnce,
    all: async <Row>(path: string, query: Readonly<Record<string, string>> = {}) => {
      const rows: Row[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const pageRequest = { query: { ...query, limit: '100', ...(cursor !== '' && { cursor }) } };
        const page = (await callOnce('GET', path, pageRequest)) as { data: Row[]; next_cursor: string | null };
        rows.push(...page.data);
        cursor = page.next_cursor;
      }
      return rows;
    },
    send,
    stream: async (path, signal) => {
      const { body } = await ask('GET', path, { signal });
      return body as AsyncIterable<Uint8Array>;
    },
  };
}

/**
 * Prints the result of a call: JSON for scripts, or a message for people.
 * @returns the exit code
 */
export function printResponse({ out }: { out: Output }, answer: unknown): number {
  const { message, data } = answer as { message: string; data?: unknown };
  out.data(data ?? { message });
  out.line(message);
  return exitCodes.ok;
}

/**
 * Reads a JSON file. The file name `-` means standard input.
 * @throws CommandError if the content is not valid JSON
 */
export async function readJsonFile({ stdin }: { stdin: Input }, file: string): Promise<unknown> {
  const json = file === '-' ? await readAll(stdin) : await readFile(file, 'utf8');
  try {
    const text = json.startsWith(byteOrderMark) ? json.slice(byteOrderMark.length) : json;
    return parseExactJson<unknown>(text, JSON.parse);
  } catch (err) {
    throw new CommandError(exitCodes.refused, `${file} is not valid JSON: ${(err as Error).message}`);
  }
}

/**
 * Opens a file to send. The file name `-` means standard input.
 * @throws Error if the file cannot be read
 */
export async function openFile({ stdin }: { stdin: Input }, file: string): Promise<AsyncIterable<Uint8Array>> {
  if (file === '-') return stdin;
  const opened = await open(file);
  if (!(await opened.stat()).isDirectory()) return opened.createReadStream();
  await opened.close();
  throw new CommandError(exitCodes.refused, `${file} is a directory.`);
}

const bodyOf = (file: NonNullable<ApiRequest['file']>): BodyInit =>
  Buffer.isBuffer(file) ? new Uint8Array(file) : (file as unknown as ReadableStream);

type Refusal = { message?: string; error?: { code?: string; details?: { path: string; message: string }[] } };

async function refusal(answer: Response, url: string): Promise<CommandError> {
  const { status } = answer;
  const body = (await answer.json().catch(() => ({}))) as Refusal;
  const details = (body.error?.details ?? []).map(({ path, message }) => `\n  ${path}: ${message}`).join('');
  const message = body.message ?? `${url} responded with status ${status}. Check that it is the URL of Perkwire.`;
  const code = status >= 500 || status === 429 ? exitCodes.unavailable : exitCodes.refused;
  return new CommandError(code, `${message}${details}`);
}
