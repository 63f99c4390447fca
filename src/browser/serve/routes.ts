import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import { immutable, sendStaticText } from '../../platform/http/static-text.ts';
import type { App, PlatformDeps } from '../../platform/ports.ts';
import { loadScript, type Script } from './script.ts';

/** A release reaches pages within this time (seconds). */
const plainMaxAgeS = 300;
const plainCaching = `public, max-age=${plainMaxAgeS}, stale-while-revalidate=86400`;

/**
 * The web SDK (docs/interface.md#web-sdk): `/sdk/launcher.js`, also under its old name `launcher.min.js`, and by
 * content
 * hash.
 */
export async function sdkRoutes(app: App, { logger }: PlatformDeps): Promise<void> {
  const script = await loadScript('launcher');
  const wallScript = await loadScript('offerwall');
  const conversionScript = await loadScript('conversion');
  if (script === null) logger.warn({}, 'the web SDK is not built; run npm run build:sdk');
  const schema = { hide: true };

  for (const url of ['/sdk/launcher.js', '/sdk/launcher.min.js'])
    app.get(url, { schema }, async (request, reply) => sendScript(request, reply, script, plainCaching));

  app.get('/sdk/conversion.js', { schema }, async (request, reply) =>
    sendScript(request, reply, conversionScript, plainCaching),
  );
  app.get<{ Params: { hash: string } }>('/sdk/conversion.:hash(^[0-9a-f]{12}).js', { schema }, async (request, reply) =>
    sendScript(
      request,
      reply,
      conversionScript,
      request.params.hash === conversionScript?.hash ? immutable : 'no-store',
    ),
  );

  // A page that names a version of another release gets the present one rather than none.
  app.get<{ Params: { hash: string } }>('/sdk/launcher.:hash(^[0-9a-f]{12}).js', { schema }, async (request, reply) => {
    if (script === null || request.params.hash === script.hash) return sendScript(request, reply, script, immutable);
    return reply.header('cache-control', 'no-store').redirect('/sdk/launcher.js');
  });

  // The page that names it was served by this release or the one before; what is here works for both.
  app.get<{ Params: { hash: string } }>('/sdk/offerwall.:hash(^[0-9a-f]{12}).js', { schema }, async (request, reply) =>
    sendScript(request, reply, wallScript, request.params.hash === wallScript?.hash ? immutable : 'no-store'),
  );
}

function sendScript(
  request: FastifyRequest,
  reply: FastifyReply,
  script: Script | null,
  caching: string,
): FastifyReply {
  if (script === null) throw new AppError('not_found');
  reply.headers({ 'content-location': script.path, 'cross-origin-resource-policy': 'cross-origin' });
  return sendStaticText(request, reply, script, { type: 'text/javascript', caching });
}
