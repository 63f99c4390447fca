import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../accounts/caller.ts';
import { audit } from '../management/audit.ts';
import { callOf, publisherQuery } from '../management/http.ts';
import { strictBody } from '../management/strict-body.ts';
import { isOperator, type Management } from '../management/unit-of-work.ts';
import { AppError, type ErrorDetail, notFound } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import type { Authenticator } from '../platform/http/auth.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { problem } from '../platform/problem.ts';
import type { Portal } from '../shell/context.ts';
import { createLink, findLink, maxLifetimeMs, revokeLink } from './links.ts';

export type PortalDeps = {
  management: Management;
  auth: Authenticator<unknown>;
  config: { publicUrl: string };
  now: () => number;
};

/** Path of a link, followed by its token. */
export const openPath = '/portal/open/';

const linksPath = '/manage/v1/portal-links';
const permissions = ['deliveries', 'deliveries/resend', 'endpoints', 'endpoints/edit', 'live'] as const;
const colour = (description: string) =>
  Type.Optional(Type.String({ pattern: '^#[0-9a-fA-F]{6}$', description: `${description}, such as \`#1f5f4a\`.` }));

const linkBody = Type.Object(
  {
    publisher_id: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Publisher whose pages are shown. Defaults to that of the key.' }),
    ),
    permissions: Type.Array(Type.Union(permissions.map((name) => Type.Literal(name))), {
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

export const portalResource = { name: 'portal-links', key: 'id' } as const;

/** Returns a link as shown in the audit log. */
export const loggedLink = ({ id, permissions, frameOrigin, userLabel }: Portal) => ({
  id,
  permissions,
  frame_origin: frameOrigin,
  user: userLabel,
});

/** Registers the routes that create and revoke portal links. */
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
      const nowMs = now();
      const expiresMs = Math.min(nowMs + body.expires_in * 1000, actor.expiresAtMs ?? Number.POSITIVE_INFINITY);
      const portal = {
        publisherId,
        keyId: actor.id,
        permissions: withPages(body.permissions),
        theme: body.theme ?? {},
        language: body.language ?? null,
        frameOrigin: body.frame_origin,
        userLabel: body.user ?? '',
      };
      requireUsable(portal);
      const { id, token } = await management.write(actor, publisherId, async (work) => {
        const created = await createLink(work.executor, { ...portal, expiresMs, nowMs });
        const after = loggedLink({ ...portal, id: created.id });
        await audit(work, { resource: portalResource, action: 'create', before: null, after });
        return created;
      });
      const data = { id, url: `${config.publicUrl}${openPath}${token}`, expires_at: new Date(expiresMs).toISOString() };
      return reply.code(201).header('cache-control', 'no-store').send({ message: 'Link created.', data });
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
      await management.write(actor, publisherId, async ({ executor, ...work }) => {
        const stored = await findLink(executor, id);
        const revoked = await revokeLink(executor, { publisherId: owner, id, nowMs: work.nowMs });
        if (stored === null || revoked === null) throw notFound('portal link');
        const change = { ...work, executor, publisherId: revoked.portal.publisherId };
        const before = loggedLink(revoked.portal);
        await audit(change, { resource: portalResource, action: 'remove', before, after: null });
      });
      return { message: 'Link revoked.', data: { id } };
    },
  );
}

/** Returns the actor and the publisher of a new link. Only operators can create links for other publishers. */
function targetOf(request: FastifyRequest, requestedId: number | undefined): ReturnType<typeof callOf> {
  const { actor, publisherId } = callOf(request);
  if (requestedId === undefined || requestedId === publisherId) return { actor, publisherId };
  if (!isOperator(actor) || !callerOf(request).snapshot.publishers.has(requestedId)) throw notFound('publisher');
  return { actor, publisherId: requestedId };
}

/** Adds the pages on which the actions take place. */
const withPages = (requested: readonly Portal['permissions'][number][]): Portal['permissions'] => [
  ...new Set(
    requested.flatMap((name): Portal['permissions'] => {
      if (name === 'deliveries/resend') return ['deliveries', name];
      return name === 'endpoints/edit' ? ['endpoints', name] : [name];
    }),
  ),
];

/**
 * Checks the origin and the logo. They become part of headers and of the page.
 * @throws AppError `invalid_request`
 */
function requireUsable({ frameOrigin, theme }: { frameOrigin: string; theme: Portal['theme'] }): void {
  const origin = parseUrl(frameOrigin);
  const isLocal = origin !== null && ['localhost', '127.0.0.1'].includes(origin.hostname);
  const isUsable = origin !== null && (origin.protocol === 'https:' || (origin.protocol === 'http:' && isLocal));
  const logo = theme.logo_url === undefined ? null : parseUrl(theme.logo_url);
  const details: ErrorDetail[] = [
    ...(isUsable && origin.origin === frameOrigin ? [] : [{ path: '/frame_origin', message: problem('frameOrigin') }]),
    ...(theme.logo_url === undefined || logo?.protocol === 'https:'
      ? []
      : [{ path: '/theme/logo_url', message: problem('logoUrl') }]),
  ];
  if (details.length > 0) throw new AppError('invalid_request', { details });
}
