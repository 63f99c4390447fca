import { readFile } from 'node:fs/promises';
import { createApi, printResponse, readJsonFile } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';
import type { Decided } from '../bulk.ts';
import type { Draft } from '../draft.ts';

const path = '/manage/v1/drafts';

type Proposed = { resource: string; row_id: number | null; changes: unknown; note: string; revises?: number };

type DraftAnswer = { message: string; data: Draft; warnings: readonly { path: string; message: string }[] };

function showWarnings({ out }: Call, warnings: DraftAnswer['warnings']): void {
  for (const { path: at, message } of warnings) out.line(`! ${at} ${message}`);
}

/**
 * Returns the draft IDs from the command arguments.
 * @throws CommandError if the arguments are invalid
 */
function idsOf({ args }: Call): number[] {
  if (args.length === 0 || !args.every((id) => /^[1-9]\d{0,8}$/.test(id))) throw usageError('Expected draft IDs.');
  return args.map(Number);
}

function oneOf(call: Call): number {
  const [id, ...rest] = idsOf(call);
  if (id === undefined || rest.length > 0) throw usageError('Expected one draft ID.');
  return id;
}

export const listDrafts: Run = async (call) => {
  const state = textOption(call, 'state') || 'waiting';
  const drafts = await createApi(call).all<Draft>(path, { state });
  call.out.data(drafts);
  for (const { id, resource, row_id, subject, proposed_by } of drafts)
    call.out.line(`${id}  ${resource} ${row_id ?? 'new'}  ${subject}  ${proposed_by}`);
  return drafts.length > 0 && state === 'waiting' ? exitCodes.problem : exitCodes.ok;
};

export const showDraft: Run = async (call) => {
  const { data, warnings } = (await createApi(call).call('GET', `${path}/${oneOf(call)}`)) as DraftAnswer;
  call.out.data(data);
  call.out.line(`${data.resource} ${data.row_id ?? 'new'}  ${data.subject}  ${data.state}`);
  if (data.reason !== '') call.out.line(data.reason);
  if (data.has_picture) call.out.line('  with an image');
  for (const [name, value] of Object.entries(data.changes)) {
    const before = Object.hasOwn(data.base, name) ? `${JSON.stringify(data.base[name])} → ` : '';
    call.out.line(`  ${name}: ${before}${JSON.stringify(value)}`);
  }
  showWarnings(call, warnings);
  return exitCodes.ok;
};

export const proposeDraft: Run = async (call) => {
  const [resource = '', ...rest] = call.args;
  const file = rest.pop();
  const [row, ...more] = rest;
  if (file === undefined || more.length > 0 || (row !== undefined && !/^[1-9]\d{0,8}$/.test(row)))
    throw usageError('Expected the type, the ID of a changed row, and a file.');
  const note = textOption(call, 'note');
  const image = textOption(call, 'image');
  const changes = await readJsonFile(call, file);
  const revises = textOption(call, 'revises');
  const revised = revises === '' ? {} : { revises: oneOf({ ...call, args: [revises] }) };
  const body = { resource, row_id: row === undefined ? null : Number(row), changes, note, ...revised };
  const request = image === '' ? { body } : { form: formOf(body, await readFile(image)) };
  const { message, data, warnings } = (await createApi(call).call('POST', path, request)) as DraftAnswer;
  call.out.data(data);
  call.out.line(`${message} ${data.id} ${data.state}`);
  showWarnings(call, warnings);
  return exitCodes.ok;
};

function formOf({ row_id, changes, ...texts }: Proposed, image: Buffer): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(texts)) form.set(name, String(value));
  if (row_id !== null) form.set('row_id', String(row_id));
  form.set('changes', JSON.stringify(changes));
  form.set('image', new Blob([new Uint8Array(image)]), 'image');
  return form;
}

async function decide(call: Call, decision: object): Promise<number> {
  const body = { ids: idsOf(call), ...decision };
  const { data } = (await createApi(call).call('POST', `${path}/decide`, { body })) as { data: Decided[] };
  call.out.data(data);
  for (const { id, state, error } of data) call.out.line(`${id}  ${state ?? error?.message}`);
  return data.some(({ error }) => error !== null) ? exitCodes.problem : exitCodes.ok;
}

export const approveDrafts: Run = (call) => {
  const at = textOption(call, 'at');
  return decide(call, { action: 'approve', reason: textOption(call, 'reason'), ...(at !== '' && { live_at: at }) });
};

export const refuseDrafts: Run = (call) => decide(call, { action: 'refuse', reason: textOption(call, 'reason') });

export const undoDraft: Run = async (call) =>
  printResponse(call, await createApi(call).call('POST', `${path}/${oneOf(call)}/undo`));
