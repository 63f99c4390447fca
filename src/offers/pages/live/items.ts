import { kindsWith } from '../../../catalog/event-kinds.ts';
import type { Publisher } from '../../../catalog/types.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { readProblem, wordProblem } from '../../../platform/problem.ts';
import { badge, codeBlock } from '../../../shell/components.ts';
import { moment } from '../../../shell/format.ts';
import { moreFields } from '../../../shell/forms.ts';
import { isRefused, type LiveCall, type LoggedCall } from '../../request-log/store.ts';
import { adviceOf, type LinkTo } from './advice.ts';
import type { LiveRequest } from './requests.ts';

/**
 * Renders the list item for an answered fetch with its events, and with the request and response if they were recorded.
 * `publisher` is the publisher as of when the page was opened, so that placements first used after that appear as new.
 */
export function sessionItem(
  request: LiveRequest,
  call: LiveCall | undefined,
  publisher: Publisher,
  linkTo: LinkTo,
): Html {
  const { sessionId, country, wrappedAt } = request;
  const events = kindsWith('token').flatMap((kind) => {
    const count = request.events[kind] ?? 0;
    return count === 0 ? [] : [badge(t(`live.event_${kind}`, { count }), kind === 'click' ? 'good' : 'info')];
  });
  return html`<li id="request-${sessionId}" data-kind="${call === undefined ? 'answered' : kindOf(call)}">
    ${moment(publisher, request.at, 'second')}
    ${call !== undefined && stateBadge(call)}
    <strong>${request.placement}</strong>
    ${!publisher.placements.has(request.placement) && badge(t('live.newPlacement'), 'warn')}
    <span>${t('live.offers', { count: request.offers })}</span>
    ${country !== null && html`<span>${country}</span>`}
    ${request.dev && badge(t('live.dev'), 'warn')}
    ${events}
    ${wrappedAt !== null && badge(t('live.confirmed', { count: request.selected ?? 0 }), 'good')}
    <code class="hint">${linkTo(`/why?session=${sessionId}`, sessionId)}</code>
    ${call !== undefined && callDetails(call, linkTo)}
  </li>`;
}

/** Renders the list item for a call other than an answered fetch. */
export const callItem = ({ id, at, call }: LoggedCall, publisher: Publisher, linkTo: LinkTo): Html =>
  html`<li id="call-${id}" data-kind="${kindOf(call)}">
    ${moment(publisher, at, 'second')}
    ${stateBadge(call)}
    <code>${call.method} ${call.path}</code>
    <span>${call.status}</span>
    ${call.error !== null && html`<span>${wordProblem(readProblem(call.error.message))}</span>`}
    ${callDetails(call, linkTo)}
  </li>`;

type Kind = 'refused' | 'partly' | 'answered';
const kindOf = ({ status, notes }: LiveCall): Kind =>
  isRefused(status) ? 'refused' : notes.length > 0 ? 'partly' : 'answered';

function stateBadge(call: LiveCall): Html {
  const kind = kindOf(call);
  if (kind === 'refused') return badge(t('live.refused'), 'bad');
  return kind === 'partly' ? badge(t('live.partly'), 'warn') : nothing;
}

function callDetails(call: LiveCall, linkTo: LinkTo): Html {
  const advice = adviceOf(call, linkTo);
  return html`
    ${advice.length > 0 && html`<ul class="advice">${advice.map((line) => html`<li>${line}</li>`)}</ul>`}
    ${moreFields(
      t('live.requestAndAnswer'),
      html`
        <div class="columns wide">
          <div><h3>${t('live.request')}</h3>${codeBlock(t('live.request'), requestText(call))}</div>
          <div><h3>${t('live.answer')}</h3>${codeBlock(t('live.answer'), answerText(call))}</div>
        </div>`,
    )}`;
}

function requestText({ method, path, query, body }: LiveCall): string {
  const parameters = Object.entries((query ?? {}) as Record<string, unknown>).map(
    ([name, value]) => `${name}=${value}`,
  );
  const url = parameters.length === 0 ? path : `${path}?${parameters.join('&')}`;
  return `${method} ${url}\n\n${body === null ? t('live.noBody') : JSON.stringify(body, null, 2)}`;
}

function answerText({ status, ms, answer }: LiveCall): string {
  const body = answer === null ? t('live.noAnswer') : JSON.stringify(answer, null, 2);
  return `${t('live.statusAndTime', { status, ms })}\n\n${body}`;
}
