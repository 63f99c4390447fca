import type { PublisherContext } from '../../../catalog/pages.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import type { FormBuilder } from '../../../shell/forms.ts';
import type { Pages } from '../../../shell/pages.ts';
import type { PageServices } from '../services.ts';

const checkPath = '/campaigns/landing-check';

/** Renders the field for the landing page. The page is checked as soon as its URL has been entered. */
export const landingField = (form: FormBuilder, { path }: PublisherContext, { extensions }: PageServices): Html => html`
  <div>
    ${form.input('landing_url', {
      label: t('campaigns.landingPage'),
      type: 'url',
      required: true,
      placeholder: 'https://',
      hint: tHtml('campaigns.landingPageHint', { macro: '{click_id}' }),
    })}
    ${
      extensions.landingCheck !== undefined &&
      html`
      <div class="checked" aria-live="polite" hx-post="${path(checkPath)}" hx-include="#f-landing_url"
        hx-trigger="input changed delay:800ms from:#f-landing_url" hx-sync="this:replace"></div>`
    }
  </div>`;

/** Registers the check of a landing page that is being entered. */
export function registerLandingCheck(
  pages: Pages<PublisherContext>,
  { landingCheck }: PageServices['extensions'],
): void {
  if (landingCheck === undefined) return;
  pages.post(checkPath, 'manager', async (context, fields) => ({
    fragment: await landingCheck(context, fields.text('landing_url')),
  }));
}
