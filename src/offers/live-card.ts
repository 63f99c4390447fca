import type { PublisherContext } from '../catalog/pages.ts';
import { type Html, html } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { card } from '../shell/components.ts';

const kinds = [
  ['', 'live.allCalls'],
  ['refused', 'live.kindRefused'],
  ['partly', 'live.kindPartly'],
  ['answered', 'live.kindAnswered'],
] as const satisfies readonly (readonly [string, MessageKey])[];

/** Renders the card that lists live calls. It is also used on the integration page. */
export const liveCard = ({ path }: PublisherContext): Html =>
  card(
    t('live.calls'),
    html`
      <div class="stream-tools">
        <select data-stream-kind aria-label="${t('live.kind')}">
          ${kinds.map(([value, text]) => html`<option value="${value}">${t(text)}</option>`)}
        </select>
        <input type="search" data-stream-filter aria-label="${t('live.filter')}"
          placeholder="${t('live.filterExample')}">
        <button type="button" class="button" data-stream-pause aria-pressed="false">${t('live.pause')}</button>
      </div>
      <p class="waiting" data-waiting>
        <span class="live-dot"></span><span data-waiting-text>${t('live.connecting')}</span>
      </p>
      <ol class="stream" data-stream="${path('/live/stream')}" aria-live="polite"
        aria-label="${t('live.list')}"></ol>`,
    { lead: t('live.callsLead') },
  );
