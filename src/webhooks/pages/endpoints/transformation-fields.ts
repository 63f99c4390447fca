import type { PublisherContext } from '../../../catalog/pages.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { codeBlock, link, notice } from '../../../shell/components.ts';
import { momentText } from '../../../shell/format.ts';
import { type Choice, type FormBuilder, moreFields } from '../../../shell/forms.ts';
import type { TransformationFailure } from '../../transformations/evaluators.ts';
import { gallery } from '../../transformations/gallery.ts';
import type { Preview } from '../../transformations/preview.ts';
import { eventTitle, sectionGroup } from './endpoint-form.ts';
import { headersText } from './test-result.ts';

/** Delivery that a transformation can be tried on. */
export type RecentDelivery = { id: string; event: string; created_at: Date };

/** Prefix of the choices for stored deliveries. All other choices are event types, whose sample is used. */
const deliveryPrefix = 'delivery:';

/** Returns the source of a preview that was chosen in the form. */
export const previewSourceOf = (choice: string) =>
  choice.startsWith(deliveryPrefix) ? { deliveryId: choice.slice(deliveryPrefix.length) } : { event: choice };

type TransformationState = {
  /** Path of the endpoint page. */
  at: string;
  events: readonly string[];
  recent: readonly RecentDelivery[];
  canEdit: boolean;
  preview: Html;
};

/**
 * Renders the editor of a transformation: the expressions, ready-made ones, and a preview that follows each change.
 * Without scripts, buttons insert an expression and show the preview.
 */
export function transformationFields(context: PublisherContext, form: FormBuilder, state: TransformationState): Html {
  const { at, canEdit } = state;
  const isUsed = ['transformation.body', 'transformation.headers'].some(
    (name) => String(form.values[name] ?? '') !== '',
  );
  const editor = html`
    <p class="hint">${tHtml('webhooks.transformationLead', {
      link: (text) => link('/docs/guides/transformations', text),
    })}</p>
    ${canEdit && templateFields(form, at)}
    ${form.textarea('transformation.body', {
      label: t('webhooks.transformationBody'),
      rows: 8,
      code: true,
      hint: t('webhooks.transformationBodyHint'),
    })}
    ${form.textarea('transformation.headers', {
      label: t('webhooks.transformationHeaders'),
      rows: 3,
      code: true,
      hint: t('webhooks.transformationHeadersHint'),
    })}
    ${canEdit && previewFields(context, form, state)}`;
  return moreFields(t('webhooks.transformation'), html`<div class="transformation">${editor}</div>`, {
    isOpen: isUsed,
    group: sectionGroup,
  });
}

const templateFields = (form: FormBuilder, at: string): Html => html`
  <div class="filters">
    ${form.select('template', {
      label: t('webhooks.template'),
      choices: gallery.map(({ key }) => ({ value: key, text: key.replaceAll('_', ' ') })),
    })}
    <button class="button" formaction="${at}/transformation/template" formnovalidate>
      ${t('webhooks.insertTemplate')}
    </button>
  </div>`;

function previewFields(
  { publisher }: PublisherContext,
  form: FormBuilder,
  { at, events, recent, preview }: TransformationState,
): Html {
  const choices: Choice[] = [
    ...recent.map(({ id, event, created_at: createdAt }) => ({
      value: `${deliveryPrefix}${id}`,
      text: t('webhooks.previewDelivery', {
        event: eventTitle(event),
        time: momentText(publisher, createdAt, 'second'),
      }),
    })),
    ...events.map((event) => ({ value: event, text: t('webhooks.previewSample', { event: eventTitle(event) }) })),
  ];
  const trigger =
    'click, change from:#f-preview_of, input changed delay:500ms from:#f-transformation-body, ' +
    'input changed delay:500ms from:#f-transformation-headers';
  return html`
    <div class="filters">
      ${form.select('preview_of', { label: t('webhooks.previewOf'), choices })}
      <button class="button" formaction="${at}/transformation/preview" formnovalidate
        hx-post="${at}/transformation/preview" hx-trigger="${trigger}" hx-target="#transformation-preview"
        hx-swap="innerHTML" hx-sync="this:replace">${t('webhooks.preview')}</button>
    </div>
    <div id="transformation-preview" aria-live="polite">${preview}</div>`;
}

/** Returns the reason why a transformation failed, in the reader's language. */
function failureReason({ reason, part, message, position }: TransformationFailure): string {
  return t('webhooks.transformationError', {
    reason,
    part: part ?? 'none',
    isPlaced: String(position !== null),
    position: position ?? 0,
    message,
  });
}

/** Renders the request that a transformation makes, or its error. */
export function previewResult({ body, bodyBytes, headers, failure }: Preview): Html {
  if (failure !== null) return notice('failed', html`<p>${failureReason(failure)}</p>`);
  return html`
    ${codeBlock(t('webhooks.headers'), headersText(headers))}
    ${codeBlock(t('webhooks.body'), body ?? '')}
    <p class="hint">${t('webhooks.previewBytes', { bytes: bodyBytes })}</p>`;
}
