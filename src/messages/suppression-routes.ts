import { Type } from '@sinclair/typebox';
import { parseEmail } from '../accounts/users.ts';
import { audit } from '../management/audit.ts';
import { callOf, fieldsOf, type ManagementHttp, publisherQuery, requirePermission, send } from '../management/http.ts';
import { openManagementScope } from '../management/resource-routes.ts';
import { checkValue } from '../management/schema-errors.ts';
import { isOperator, type Work } from '../management/unit-of-work.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import { problem } from '../platform/problem.ts';
import { allPublishers, findSuppression, type Reader, suppress, suppressionReasons, unsuppress } from './addresses.ts';
import type { ReaderKeys } from './outbox.ts';
import { listPath, tags } from './routes.ts';

const path = `${listPath}/suppressions`;

/** Maximum number of addresses per call. */
const maxAddresses = 1000;

const counts = Type.Object(
  Object.fromEntries(suppressionReasons.map((reason) => [reason, Type.Integer()])) as Record<
    (typeof suppressionReasons)[number],
    ReturnType<typeof Type.Integer>
  >,
);
const addresses = Type.Object(
  { emails: Type.Array(Type.String({ maxLength: 254 }), { minItems: 1, maxItems: maxAddresses }) },
  { additionalProperties: false },
);
const address = Type.Object({ email: Type.String({ maxLength: 254 }) }, { additionalProperties: false });
const state = Type.Object({
  suppressed: Type.Boolean(),
  reason: Type.Union([...suppressionReasons.map((reason) => Type.Literal(reason)), Type.Null()]),
  since: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
});

const stateAnswer = Type.Object({ data: state }, { title: 'SuppressionAnswer' });

/**
 * Registers the routes for suppressed addresses. Addresses are sent in request bodies, so that they do not appear in
 * URL logs. Only their keyed hashes are stored.
 */
export async function suppressionRoutes(
  app: App,
  { http, readerKeys }: { http: ManagementHttp; readerKeys: ReaderKeys },
): Promise<void> {
  openManagementScope(app);
  const hooks = requirePermission(http, 'configurations');
  const shared = { tags, querystring: publisherQuery };
  const readersOf = (publisherId: number, email: string) => readerKeys(publisherId, { email });

  const countSchema = {
    ...shared,
    operationId: 'countSuppressions',
    summary: 'Count suppressed addresses',
    description:
      'Returns counts by reason. `bounced` and `complained` count the addresses of all publishers, because they ' +
      'apply to all. Addresses are stored as keyed hashes and cannot be listed.',
    response: { 200: Type.Object({ data: counts }), ...errorAnswers(401, 403, 404) },
  };
  app.get(path, { schema: countSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const data = await http.management.read(actor, publisherId, countSuppressions);
    return send(reply, { status: 200, body: { data }, headers: {} });
  });

  const addSchema = {
    ...shared,
    operationId: 'addSuppressions',
    summary: 'Suppress addresses',
    description: `Adds up to ${maxAddresses} addresses, such as the suppression list of another mailer.`,
    body: addresses,
    response: { 200: Type.Object({ data: Type.Object({ added: Type.Integer() }) }), ...errorAnswers(400, 401, 403) },
  };
  app.post(path, { schema: addSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const emails = emailsOf(fieldsOf(request));
    const readers = emails.map((email) => readersOf(publisherId, email)[0]);
    const added = await http.management.write(actor, publisherId, async (work) => {
      const count = await suppress(work.executor, readers, 'added', work.nowMs);
      await auditSuppressions(work, { added: count });
      return count;
    });
    return send(reply, { status: 200, body: { data: { added } }, headers: {} });
  });

  const oneSchema = { ...shared, body: address, response: { 200: stateAnswer } };
  const checkSchema = {
    ...oneSchema,
    operationId: 'checkSuppression',
    summary: 'Check whether an address is suppressed',
    description: "Checks the publisher's suppressed addresses, and bounces and complaints at all publishers.",
    response: { ...oneSchema.response, ...errorAnswers(400, 401, 403, 404) },
  };
  app.post(`${path}/check`, { schema: checkSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const readers = readersOf(publisherId, emailOf(fieldsOf(request)));
    const data = await http.management.read(actor, publisherId, (work) => stateOf(work, readers));
    return send(reply, { status: 200, body: { data }, headers: {} });
  });

  const removeSchema = {
    ...oneSchema,
    operationId: 'removeSuppression',
    summary: 'Remove a suppressed address',
    description:
      'Allows messages to an address again, at the request of its owner. An address that bounced or complained ' +
      'stays suppressed for all publishers, as the response shows. Only an operator can remove it.',
    response: { ...oneSchema.response, ...errorAnswers(400, 401, 403, 404) },
  };
  app.post(`${path}/remove`, { schema: removeSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const readers = readersOf(publisherId, emailOf(fieldsOf(request)));
    const data = await http.management.write(actor, publisherId, async (work) => {
      const lifted = isOperator(actor) ? readers : readers.filter((reader) => reader.publisherId === publisherId);
      if (await unsuppress(work.executor, lifted)) await auditSuppressions(work, { removed: 1 });
      return stateOf(work, readers);
    });
    return send(reply, { status: 200, body: { data }, headers: {} });
  });
}

/**
 * Parses a list of e-mail addresses.
 * @throws AppError invalid_request
 */
function emailsOf(body: unknown): string[] {
  const details = checkValue(addresses, body ?? {});
  const { emails = [] } = (body ?? {}) as { emails?: string[] };
  const parsed = details.length > 0 ? [] : emails.map(parseEmail);
  for (const [index, email] of parsed.entries())
    if (email === null) details.push({ path: `/emails/${index}`, message: problem('oneAddress') });
  if (details.length > 0) throw new AppError('invalid_request', { details: details.slice(0, 100) });
  return [...new Set(parsed as string[])];
}

/**
 * Parses an e-mail address.
 * @throws AppError invalid_request
 */
function emailOf(body: unknown): string {
  const details = checkValue(address, body ?? {});
  const email = details.length > 0 ? null : parseEmail((body as { email: string }).email);
  if (details.length === 0 && email === null) details.push({ path: '/email', message: problem('oneAddress') });
  if (email === null) throw new AppError('invalid_request', { details });
  return email;
}

async function stateOf({ executor }: { executor: Executor }, readers: readonly Reader[]) {
  const suppression = await findSuppression(executor, readers);
  return {
    suppressed: suppression !== null,
    reason: suppression?.reason ?? null,
    since: suppression?.createdAt.toISOString() ?? null,
  };
}

export async function countSuppressions({ executor, publisherId }: { executor: Executor; publisherId: number }) {
  const { rows } = await executor.query<{ reason: (typeof suppressionReasons)[number]; count: number }>(
    `select reason, count(*)::integer as count from message_suppressions where publisher_id = any($1) group by reason`,
    [[publisherId, allPublishers]],
  );
  const countByReason = new Map(rows.map(({ reason, count }) => [reason, count]));
  return Object.fromEntries(suppressionReasons.map((reason) => [reason, countByReason.get(reason) ?? 0])) as Record<
    (typeof suppressionReasons)[number],
    number
  >;
}

/** Writes an audit log entry with the number of changed addresses, but without the addresses. */
export async function auditSuppressions(work: Work, change: { added?: number; removed?: number }): Promise<void> {
  const resource = { name: 'message-suppressions', key: 'id' } as const;
  const before = Object.fromEntries(Object.keys(change).map((name) => [name, 0]));
  await audit(work, {
    resource,
    action: 'update',
    before: { id: work.publisherId, ...before },
    after: { id: work.publisherId, ...change },
  });
}
