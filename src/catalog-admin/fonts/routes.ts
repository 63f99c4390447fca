import { type Static, Type } from '@sinclair/typebox';
import type { FetchFile, PageExtensions } from '../../catalog/pages.ts';
import { maxUrlLength, text } from '../../management/fields.ts';
import { callOf, type ManagementHttp, publisherQuery, requirePermission } from '../../management/http.ts';
import { strictBody } from '../../management/strict-body.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { createLimiter } from '../../platform/lib/fair-limiter.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import { themes } from '../resources/themes.ts';
import { fontMeasures, fontUrlProblem } from '../theme-overrides.ts';
import { type FontMeasures, measureFont } from './measure-font.ts';

/** Timeout for the whole API call, in milliseconds. */
const deadlineMs = 10_000;

/** Limits concurrent calls per publisher, so that a slow font host delays only the publisher that uses the host. */
const inTurn = createLimiter({
  maxConcurrent: 8,
  maxConcurrentPerClient: 1,
  maxWaitingPerClient: 4,
  maxWaiting: 64,
  message: problem('fontsWaiting'),
});

const body = Type.Object(
  {
    url: text(maxUrlLength, {
      description: 'URL of a woff2 file (https, up to 512 kB). The server must allow all origins (CORS).',
    }),
  },
  { title: 'FontToMeasure', additionalProperties: false },
);

const answer = Type.Object({
  message: Type.String(),
  data: Type.Object(
    { url: Type.String(), family: Type.String(), weights: Type.String(), ...required(fontMeasures) },
    { title: 'MeasuredFont' },
  ),
});

function required({ ascent, descent, line_gap, width }: typeof fontMeasures) {
  const measure = ({ description }: { description?: string }) =>
    Type.Integer(description === undefined ? {} : { description });
  return { ascent: measure(ascent), descent: measure(descent), line_gap: measure(line_gap), width: measure(width) };
}

/**
 * Registers the route that measures a font. The response can be stored unchanged as a theme's web font
 * (docs/reference/themes-and-rendering.md#web-fonts).
 */
export function fontRoutes(
  app: App,
  http: ManagementHttp,
  { extensions, publicUrl }: { extensions: PageExtensions; publicUrl: string },
): void {
  const schema = {
    operationId: 'measureFont',
    summary: 'Measure a font',
    description:
      'Reads a woff2 file and returns its name, weights and metrics in the format of `appearance.web_font` of a ' +
      'theme. Nothing is stored.',
    tags: ['Themes'],
    querystring: publisherQuery,
    body,
    response: { 200: answer, ...errorAnswers(400, 401, 403, 503) },
  };
  const hooks = { ...requirePermission(http, themes.permission), ...strictBody };
  app.post<{ Body: Static<typeof body> }>('/manage/v1/fonts', { schema, ...hooks }, async (request) => {
    const { publisherId } = callOf(request);
    const { url } = request.body;
    const font = await readFont(url, { fetchFont: extensions.fetchFont, publicUrl, publisherId });
    return { message: 'Font measured.', data: { url, ...font } };
  });
}

/**
 * Fetches and measures a font.
 * @throws AppError invalid_font with the reason; unavailable if too many calls are queued
 */
export async function readFont(
  url: string,
  { fetchFont, publicUrl, publisherId }: { fetchFont: FetchFile | undefined; publicUrl: string; publisherId: number },
): Promise<FontMeasures> {
  const refused = (message: Problem): AppError =>
    new AppError('invalid_font', { details: [{ path: '/url', message }] });
  const wrong = fontUrlProblem(url);
  if (wrong !== null) throw refused(wrong);
  if (fetchFont === undefined) throw new AppError('unavailable');
  // Request headers that a browser would send when it loads the font for a shop's page.
  const headers = { accept: 'font/woff2,*/*;q=0.1', origin: new URL(publicUrl).origin };
  const read = await inTurn(() => fetchFont(url, { headers, deadlineMs }), { client: publisherId });
  if ('problem' in read) throw refused(read.problem);
  const allowed = read.headers['access-control-allow-origin'];
  if (allowed !== '*') throw refused(problem('fontOpen'));
  const font = await measureFont(read.body);
  if (font === null) throw refused(problem('fontFile'));
  return font;
}
