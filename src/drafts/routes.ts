import { type Static, Type } from '@sinclair/typebox';
import { approvalPermission } from '../catalog-admin/approval.ts';
import { type ImageForm, imageLimits, readImageForm, registerImageForms } from '../catalog-admin/images.ts';
import { answerOf, rowAnswer } from '../management/answers.ts';
import {
  callOf,
  forLimitedKeys,
  type ManagementHttp,
  post,
  publisherQuery,
  requirePermission,
} from '../management/http.ts';
import type { Values, View } from '../management/resource.ts';
import { idempotencyKey, openManagementScope, resourceRoutes } from '../management/resource-routes.ts';
import { refuseFields, requireBody, strictBody } from '../management/strict-body.ts';
import type { Work } from '../management/unit-of-work.ts';
import type { App } from '../platform/http/app.ts';
import type { Permission } from '../platform/http/auth.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import type { ReviewedKinds } from './apply.ts';
import { decideAll, maxDecided } from './bulk.ts';
import { approve, refuse, undo, withdraw } from './decide.ts';
import { type Draft, draftImageFile, drafts, getDraft } from './draft.ts';
import { propose } from './propose.ts';

const tags = ['Drafts'];
const path = '/manage/v1/drafts';
const text = (description: string) => Type.String({ description });
const liveAt = Type.Union([Type.String(), Type.Null()], {
  description:
    'Time at which the draft goes live, as an RFC 3339 time such as `2026-11-27T00:00:00+01:00`. `null` for ' +
    'immediately.',
});

const proposalBody = Type.Object(
  {
    resource: Type.Union(['offers', 'creatives', 'campaigns'].map((kind) => Type.Literal(kind))),
    row_id: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
        description: 'ID of the row to change. `null` for a new row.',
      }),
    ),
    changes: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Fields to save. For campaigns also `schedule` with `start_at` and `end_at`, which keeps the other rules.',
    }),
    note: Type.Optional(text('Note for the approver.')),
    revises: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'ID of a refused or waiting draft of the same author that this draft replaces. The new draft takes over ' +
          'its image, unless it has its own.',
      }),
    ),
  },
  { title: 'DraftInput', additionalProperties: false },
);

const approvalBody = Type.Object(
  {
    reason: Type.Optional(text('Comment on the approval. The author sees it.')),
    live_at: Type.Optional(liveAt),
    row_etag: Type.Optional(text('ETag of the changed row. It confirms the approval after a 409 response.')),
  },
  { title: 'DraftApproval', additionalProperties: false },
);

const decisionBody = Type.Object(
  {
    ids: Type.Array(Type.Integer(), { minItems: 1, maxItems: maxDecided }),
    action: Type.Union([Type.Literal('approve'), Type.Literal('refuse')]),
    reason: Type.Optional(text('Reason for the decision. Required to refuse drafts. The author sees it.')),
    live_at: Type.Optional(liveAt),
  },
  { title: 'DraftDecision', additionalProperties: false },
);

const decisionAnswer = Type.Object({
  message: Type.String(),
  data: Type.Array(
    Type.Object({
      id: Type.Integer(),
      state: Type.Union([Type.String(), Type.Null()], {
        description: 'New state, or `null` if the draft could not be decided (see `error`).',
      }),
      error: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()]),
    }),
  ),
});

/** Registers the routes for drafts (docs/reference/management.md#drafts). */
export async function draftRoutes(app: App, { http, kinds }: { http: ManagementHttp; kinds: ReviewedKinds }) {
  openManagementScope(app);
  resourceRoutes(app, http, drafts, ['list', 'get']);
  await app.register((forms: App) => proposeRoute(forms, http, kinds));
  imageRoute(app, http);
  decisionRoute(app, http, kinds);
  const decide = oneRoute(app, http);
  decide('approve', {
    summary: 'Approve a draft',
    description:
      'Makes the draft live immediately or at the scheduled time. If the fields were changed in the meantime, ' +
      'the call fails with 409 and returns the difference. Repeat it with `row_etag` to approve the draft ' +
      'anyway.',
    permission: approvalPermission,
    body: approvalBody,
    act: (work, id, { reason, live_at, row_etag }) =>
      approve(kinds, work, id, { reason, liveAt: live_at, rowEtag: row_etag }),
  });
  decide('refuse', {
    summary: 'Refuse a draft',
    description: 'Refuses the draft without changing the live row. The author sees the reason.',
    permission: approvalPermission,
    body: Type.Object({ reason: Type.String() }, { title: 'DraftRefusal', additionalProperties: false }),
    act: (work, id, { reason }) => refuse(work, id, reason),
  });
  decide('withdraw', {
    summary: 'Withdraw a draft',
    description: 'The draft is no longer pending.',
    permission: drafts.permission,
    act: (work, id) => withdraw(work, id),
  });
  decide('undo', {
    summary: 'Undo a decision on a draft',
    description:
      'Reverts an approved draft: its changes are undone, or its new row is removed. A refused draft becomes ' +
      'pending again.',
    permission: approvalPermission,
    act: (work, id) => undo(kinds, work, id),
  });
}

/**
 * Maximum size of a form field in a multipart upload, in bytes. Large enough for an offer with all its translations.
 */
const maxFieldBytes = 256 * 1024;

async function proposeRoute(app: App, http: ManagementHttp, kinds: ReviewedKinds): Promise<void> {
  const forms = await registerImageForms(app, maxFieldBytes);
  const schema = {
    operationId: 'createDraft',
    summary: 'Propose a change',
    description:
      'Validates the change and stores it as a draft, which goes live after its approval. `multipart/form-data` ' +
      'uploads the image of a new creative, which determines `url`, `type`, `width` and `height`, or the first ' +
      'image of a new offer. Its fields are `resource`, `changes` (JSON), `note`, `revises`, and ' +
      `${imageLimits}.`,
    tags,
    consumes: ['application/json', 'multipart/form-data'],
    querystring: publisherQuery,
    headers: idempotencyKey,
    body: proposalBody,
    response: { 201: answerOf(http, drafts), ...errorAnswers(400, 401, 403, 404, 409, 413, 415, 422) },
  };
  const hooks = { ...requirePermission(http, drafts.permission), ...forLimitedKeys };
  app.post(path, { schema, ...forms, ...hooks }, async (request, reply) => {
    const form: Partial<ImageForm> = request.isMultipart() ? await readImageForm(request, readField) : {};
    const { row_id: rowId = null, ...draftInput } = requireBody(proposalBody, form.fields ?? request.body);
    const proposal = { ...draftInput, rowId, ...(form.image !== undefined && { image: form.image }) };
    const make = async (work: Work) =>
      answer(http, work, await propose(kinds, work, proposal), { message: 'Draft created.', status: 201 });
    return post(http, request, reply, make, form.same);
  });
}

/** Parses a form field, which always arrives as text. Values of the wrong type are left for validation to report. */
function readField(name: string, value: unknown): unknown {
  if ((name === 'row_id' || name === 'revises') && /^\d{1,10}$/.test(String(value))) return Number(value);
  if (name !== 'changes' || typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function imageRoute(app: App, http: ManagementHttp): void {
  const schema = {
    operationId: 'getDraftPicture',
    summary: 'Get the image of a draft',
    description: 'Returns the uploaded image. Available as long as the draft is stored, unless it is withdrawn.',
    tags,
    params: Type.Object({ id: Type.String() }),
    querystring: publisherQuery,
    response: {
      200: { description: 'Image file.', content: { 'image/*': { schema: Type.String({ format: 'binary' }) } } },
      ...errorAnswers(401, 403, 404),
    },
  };
  const hooks = { ...requirePermission(http, drafts.permission), ...forLimitedKeys };
  app.get<{ Params: { id: string } }>(`${path}/:id/picture`, { schema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { download, type, name } = await http.management.read(actor, publisherId, async (work) =>
      draftImageFile(work, await getDraft(work, request.params.id)),
    );
    const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
    return reply
      .headers({ ...headers, 'content-disposition': `attachment; filename="${name}"` })
      .type(type)
      .send(download);
  });
}

function decisionRoute(app: App, http: ManagementHttp, kinds: ReviewedKinds): void {
  const schema = {
    operationId: 'decideDrafts',
    summary: 'Approve or refuse several drafts',
    description: 'Decides each draft separately. A draft that cannot be decided does not affect the others.',
    tags,
    querystring: publisherQuery,
    headers: idempotencyKey,
    body: decisionBody,
    response: { 200: decisionAnswer, ...errorAnswers(400, 401, 403, 404, 409, 422) },
  };
  const hooks = { ...requirePermission(http, approvalPermission), ...forLimitedKeys };
  type Decide = { Body: Static<typeof decisionBody> };
  app.post<Decide>(`${path}/decide`, { schema, ...strictBody, ...hooks }, (request, reply) =>
    post(http, request, reply, async (work) => {
      const { ids, action, reason, live_at: liveAt } = request.body;
      const data = await decideAll(kinds, work, ids, { action, reason, liveAt });
      return { status: 200, body: { message: 'Drafts decided.', data }, headers: {} };
    }),
  );
}

type OneCall = {
  summary: string;
  description: string;
  permission: Permission;
  body?: ReturnType<typeof Type.Object>;
  act: (work: Work, id: string, values: Values) => Promise<Draft>;
};

const oneRoute =
  (app: App, http: ManagementHttp) =>
  (name: string, { permission, body, act, ...texts }: OneCall): void => {
    const schema = {
      operationId: `${name}Draft`,
      ...texts,
      tags,
      params: Type.Object({ id: Type.String() }),
      querystring: publisherQuery,
      headers: idempotencyKey,
      ...(body !== undefined && { body }),
      response: { 200: answerOf(http, drafts), ...errorAnswers(400, 401, 403, 404, 409, 422) },
    };
    const checks = body === undefined ? { preHandler: refuseFields } : strictBody;
    const hooks = { ...requirePermission(http, permission), ...forLimitedKeys, ...checks };
    app.post<{ Params: { id: string } }>(`${path}/:id/${name}`, { schema, ...hooks }, (request, reply) =>
      post(http, request, reply, async (work) => {
        const draft = await act(work, request.params.id, (request.body ?? {}) as Values);
        return answer(http, work, draft, { message: `Draft ${draft.state}.` });
      }),
    );
  };

const answer = (http: ManagementHttp, work: Work, draft: Draft, options: Parameters<typeof rowAnswer>[4]) =>
  rowAnswer(http, drafts, work, draft as unknown as View, options);
