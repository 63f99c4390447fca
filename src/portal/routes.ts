import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../accounts/caller.ts';
import { callOf, publisherQuery } from '../management/http.ts';
import { defaultLimit, maxLimit } from '../management/list.ts';
import { orNull } from '../management/resource.ts';
import { strictBody } from '../management/strict-body.ts';
import { isOperator, type Management } from '../management/unit-of-work.ts';
import { notFound } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import type { Authenticator } from '../platform/http/auth.ts';
import { errorAnswers, integerParameter } from '../platform/http/schemas.ts';
import { type ListedLink, linkStates, listLinks, maxLifetimeMs, stateOf } from './links.ts';
import { endLink, makeLink, portalPermissions } from './manage.ts';

export type PortalDeps = {
  management: Management;
  auth: Authenticator<unknown>;
  config: { publicUrl: string };
  now: () => number;
};

const linksPath = '/manage/v1/portal-links';
const colour = (description: string) =>
  Type.Optional(Type.String({ pattern: '^#[0-9a-fA-F]{6}$', description: `${description}, such as \`#1f5f4a\`.` }));

const linkBody = Type.Object(
  {
    publisher_id: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Publisher whose pages are shown. Defaults to that of the key.' }),
    ),
    permissions: Type.Array(Type.Union(portalPermissions.map((name) => Type.Literal(name))), {
      minItems: 1,
      uniqueItems: true,
      description: 'Pages and actions. `deliveries/resend` and `endpoints/edit` include their pages.',
    }),
    frame_origin: Type.String({
      maxLength: 300,
      description: 'Origin of the website that embeds the portal, such as `https://admin.example`.',
    }),
    user: Type.Optional(Type.String({ maxLength: 200, description: 'Name of the user in the audit log.' })),
    language: Type.Optional(
      Type.Union([Type.Literal('en'), Type.Literal('de')], { description: 'Defaults to that of the browser.' }),
    ),
    theme: Type.Optional(
      Type.Object(
        {
          accent_color: colour('Colour of buttons and links'),
          accent_color_dark: colour('Colour of buttons and links in dark mode'),
          logo_url: Type.Optional(Type.String({ maxLength: 1000, description: 'Logo, with an `https` URL.' })),
        },
        { title: 'PortalTheme', additionalProperties: false },
      ),
    ),
    expires_in: Type.Integer({
      minimum: 60,
      maximum: maxLifetimeMs / 1000,
      default: maxLifetimeMs / 1000,
      description: 'Lifetime of the link and of its session, in seconds.',
    }),
  },
  { title: 'PortalLinkInput', additionalProperties: false },
);

const linkAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      url: Type.String({ description: 'Source of the frame. It can be opened once.' }),
      expires_at: Type.String({ format: 'date-time' }),
    },
    { title: 'PortalLink' },
  ),
});

const removedAnswer = Type.Object({ message: Type.String(), data: Type.Object({ id: Type.String() }) });

const listedLink = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    state: Type.Union(
      linkStates.map((state) => Type.Literal(state)),
      { description: '`waiting`: not opened yet. `open`: opened, and its session is running.' },
    ),
    user: Type.String(),
    permissions: Type.Array(Type.String()),
    frame_origin: Type.String(),
    created_by: Type.String({ description: 'Name of the API key or user that created the link, or `Operator`.' }),
    created_at: Type.String({ format: 'date-time' }),
    expires_at: Type.String({ format: 'date-time' }),
    opened_at: orNull(Type.String({ format: 'date-time' })),
    revoked_at: orNull(Type.String({ format: 'date-time' })),
  },
  { title: 'ListedPortalLink' },
);

const listQuery = Type.Object({
  ...publisherQuery.properties,
  limit: integerParameter(
    { minimum: 1, maximum: maxLimit },
    { pattern: '^([1-9]\\d?|100)$', description: 'Links per page, 1 to 100. Defaults to 50.' },
  ),
  cursor: Type.Optional(Type.String({ format: 'uuid', description: '`next_cursor` of the previous page.' })),
});

const listAnswer = Type.Object({
  message: Type.String(),
  data: Type.Array(listedLink),
  next_cursor: orNull(Type.String(), { description: '`cursor` of the next page, or `null` on the last page.' }),
});

/** Registers the routes that list, create and revoke portal links. */
export async function portalRoutes(app: App, { management, auth, config, now }: PortalDeps): Promise<void> {
  const tags = ['Portal'];
  app.addHook('preValidation', auth.requireKey('configurations', 'accounts'));
  app.post(
    linksPath,
    {
      schema: {
        operationId: 'createPortalLink',
        summary: 'Create a portal link',
        description: 'Returns a link that shows pages of a publisher in a frame of your website.',
        tags,
        querystring: publisherQuery,
        body: linkBody,
        response: { 201: linkAnswer, ...errorAnswers(400, 401, 403, 404) },
      },
      ...strictBody,
    },
    async (request, reply) => {
      const { body } = request;
      const { actor, publisherId } = targetOf(request, body.publisher_id);
      const latestMs = actor.expiresAtMs ?? Number.POSITIVE_INFINITY;
      const data = await management.write(actor, publisherId, (work) =>
        makeLink(work, config, {
          keyId: actor.id,
          permissions: body.permissions,
          theme: body.theme ?? {},
          language: body.language ?? null,
          frameOrigin: body.frame_origin,
          userLabel: body.user ?? '',
          expiresMs: Math.min(now() + body.expires_in * 1000, latestMs),
        }),
      );
      return reply.code(201).header('cache-control', 'no-store').send({ message: 'Link created.', data });
    },
  );

  app.get(
    linksPath,
    {
      schema: {
        operationId: 'listPortalLinks',
        summary: 'List portal links',
        description:
          'Returns the links of a publisher, newest first. Links are listed until 30 days after they expire.',
        tags,
        querystring: listQuery,
        response: { 200: listAnswer, ...errorAnswers(400, 401, 403) },
      },
    },
    async (request, reply) => {
      const { actor, publisherId } = callOf(request);
      const { limit = defaultLimit, cursor = null } = request.query;
      const most = Number(limit);
      const links = await management.read(actor, publisherId, ({ executor }) =>
        listLinks(executor, { publisherId, before: cursor, limit: most + 1 }),
      );
      const data = links.slice(0, most).map((link) => viewOf(link, now()));
      const next_cursor = links.length > most ? (data.at(-1)?.id ?? null) : null;
      return reply.header('cache-control', 'no-store').send({ message: 'Links found.', data, next_cursor });
    },
  );

  app.delete(
    `${linksPath}/:id`,
    {
      schema: {
        operationId: 'revokePortalLink',
        summary: 'Revoke a portal link',
        description: 'Ends the session of the link immediately.',
        tags,
        params: Type.Object({ id: Type.String({ format: 'uuid' }) }),
        querystring: publisherQuery,
        response: { 200: removedAnswer, ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const { actor, publisherId } = callOf(request);
      const { id } = request.params;
      const owner = isOperator(actor) ? null : publisherId;
      await management.write(actor, publisherId, (work) => endLink(work, owner, id));
      return { message: 'Link revoked.', data: { id } };
    },
  );
}

const viewOf = (link: ListedLink, nowMs: number) => ({
  id: link.id,
  state: stateOf(link, nowMs),
  user: link.user_label,
  permissions: link.permissions,
  frame_origin: link.frame_origin,
  created_by: link.created_by,
  created_at: link.created_at.toISOString(),
  expires_at: link.expires_at.toISOString(),
  opened_at: link.opened_at?.toISOString() ?? null,
  revoked_at: link.revoked_at?.toISOString() ?? null,
});

/** Returns the actor and the publisher of a new link. Only operators can create links for other publishers. */
function targetOf(request: FastifyRequest, requestedId: number | undefined): ReturnType<typeof callOf> {
  const { actor, publisherId } = callOf(request);
  if (requestedId === undefined || requestedId === publisherId) return { actor, publisherId };
  if (!isOperator(actor) || !callerOf(request).snapshot.publishers.has(requestedId)) throw notFound('publisher');
  return { actor, publisherId: requestedId };
}
