import { Type } from '@sinclair/typebox';
import type { Publisher } from '../catalog/types.ts';
import type { App, Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { errorAnswers } from '../http/schemas.ts';
import { escapeHtml } from '../offers/macros.ts';

const page = { description: 'The page.', content: { 'text/html': { schema: Type.String() } } };

/** `GET /privacy/{sdk_id}`: what `privacy_url` shows where the publisher has no page of its own. */
export async function privacyRoutes(app: App, { catalog }: Deps): Promise<void> {
  app.get(
    '/privacy/:sdkId',
    {
      schema: {
        summary: 'Privacy page',
        tags: ['Offers'],
        params: Type.Object({ sdkId: Type.String() }),
        response: { 200: page, ...errorAnswers(404) },
      },
    },
    async (request, reply) => {
      const publisher = catalog.current().publishersBySdkId.get(request.params.sdkId);
      if (publisher === undefined) throw new AppError('not_found');
      reply
        .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
        .header('cache-control', 'public, max-age=300');
      return reply.type('text/html; charset=utf-8').send(privacyPage(publisher) as never);
    },
  );
}

const privacyPage = ({ name, privacyText }: Publisher): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Offers and your privacy</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color:#1f2430}h1{font-size:1.5rem}h2{font-size:1.1rem}</style>
<h1>Offers and your privacy</h1>
<p>${escapeHtml(name)} shows you offers of its partners. This page says what is kept when it does.</p>
${privacyText === '' ? standardText(escapeHtml(name)) : paragraphs(privacyText)}
</html>
`;

/** A publisher's own words, shown as text. */
const paragraphs = (text: string): string =>
  text
    .split(/\n\s*\n/)
    .map((paragraph) => `<p>${escapeHtml(paragraph.trim()).replaceAll('\n', '<br>')}</p>`)
    .join('\n');

const standardText = (name: string): string => `<h2>What is kept</h2>
<p>Which offers were shown to you, whether you opened, saved or declined them, and a pseudonymous number in place of your name.
It is used to not show you the same offer too often, to respect a “no thanks”, and to count.</p>
<h2>What is not kept</h2>
<p>No name, no e-mail address, no phone number and no full network address.</p>
<h2>Your choice</h2>
<p>Perks you pick are handed to ${name} and to nobody else. To see or erase what is kept about you, ask ${name}.</p>`;
