import type { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { toAppError } from '../platform/http/error-handler.ts';
import { html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { asReader } from '../platform/i18n/reader.ts';
import { loggedUrl } from '../platform/logger.ts';
import { apiText } from './api-text.ts';
import { linkButton } from './components.ts';
import { renderCard, renderPage, type Shell } from './layout.ts';
import { pageHeaders } from './pages.ts';

/** Registers error pages. */
export function registerErrorPages(app: App, shell: Shell): void {
  const { asset, cookies, publicUrl } = shell;
  app.setErrorHandler((err, request, reply) =>
    asReader(request.reader, () => {
      const error = toAppError(err);
      const { method, url, id, viewer } = request;
      if (error.status >= 500)
        request.log.error({ err: error.cause ?? error, method, url: loggedUrl(url), requestId: id }, 'page failed');
      if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
      reply.code(error.status).headers(pageHeaders(publicUrl));
      const title = titleOf(error);
      const text = error.status === 404 ? t('errors.notFoundText') : apiText(error.message);
      const body = html`
      <div class="empty">
        <p>${text}</p>
        <p class="hint">${t('errors.request', { id })}</p>
        ${linkButton('/dashboard', t('errors.goToDashboard'))}
      </div>`;
      if (viewer === null) return reply.send(renderCard(title, asset, body));
      const flash = cookies.takeFlash(request, reply);
      return reply.send(renderPage({ title, body }, { viewer, publisher: request.viewedPublisher, flash, shell }));
    }),
  );
}

function titleOf({ status }: AppError): string {
  if (status === 404) return t('errors.notFound');
  if (status === 403) return t('errors.denied');
  return status >= 500 ? t('errors.failed') : t('errors.refused');
}
