import { type Html, html, nothing } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { csrfFieldName, type PageContext, type Viewer, viewerOf } from './context.ts';

export const hiddenField = (name: string, value: string | number): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** Hidden field with the CSRF token. Every form that changes something must contain it. */
export const csrfField = ({ csrf }: Viewer): Html => hiddenField(csrfFieldName, csrf);

type ActionButton = {
  to: string;
  text: string;
  kind?: 'main' | 'quiet' | 'danger' | '';
  small?: boolean;
  /** Text of the confirmation dialog; absent for no dialog. */
  confirm?: string;
  values?: Readonly<Record<string, string | number>>;
};

/** Button that changes something. It is a form of its own, so that it works without scripts. */
export function actionButton({ request }: PageContext, action: ActionButton): Html {
  const { to, text, kind = '', small = false, confirm, values = {} } = action;
  const confirmation = confirm !== undefined && html` data-confirm="${confirm}" data-confirm-button="${text}"`;
  return html`
    <form method="post" action="${to}" class="inline"${confirmation}>
      ${csrfField(viewerOf(request))}${Object.entries(values).map(([name, value]) => hiddenField(name, value))}
      <button class="button ${kind}${small && ' small'}">${text}</button>
    </form>`;
}

type SaveForm = {
  button?: string;
  cancel?: string;
  /** Page with the form, if its errors are shown at another URL. */
  page?: string;
  /** Whether the route answers `rowsField` with the submitted form. drafts.js then lets it render forms with rows. */
  rows?: boolean;
  /** Attributes of the form element. */
  attributes?: Html;
  /** Buttons after the first one. */
  extra?: Html;
};

/** Form that saves, with its buttons in a row at the end. Entered values survive the end of the session (drafts.js). */
export function saveForm({ request }: PageContext, to: string, body: Html, options: SaveForm = {}): Html {
  const { button = t('common.save'), cancel, page = '', rows = false, attributes = nothing, extra = nothing } = options;
  const draftAttributes = html`data-keep="${page}"${rows && html` data-rows`}`;
  return html`
    <form method="post" action="${to}" class="form" novalidate ${draftAttributes}${attributes}>
      ${csrfField(viewerOf(request))}
      ${body}
      <div class="form-end">
        <button class="button main">${button}</button>
        ${extra}
        ${cancel !== undefined && html`<a class="button quiet" href="${cancel}">${t('common.cancel')}</a>`}
      </div>
    </form>`;
}

/** Disabled fields of a form, for users with read access. */
export const readOnlyFields = (fields: Html): Html => html`<fieldset class="plain" disabled>${fields}</fieldset>`;
