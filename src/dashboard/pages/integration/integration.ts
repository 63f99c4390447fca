import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import { liveCard } from '../../../offers/live-card.ts';
import { createFailFast } from '../../../platform/db/health.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { card, copyable, descriptionList, link, tabs } from '../../../shell/components.ts';
import { queryText } from '../../../shell/context.ts';
import type { Page } from '../../../shell/layout.ts';
import type { PageServices } from '../services.ts';
import { setupChecklist } from '../setup/checklist.ts';
import { type Snippet, snippetsFor } from './snippets.ts';

/** Registers the integration page, which shows code snippets with the publisher's SDK ID, and incoming calls live. */
export function integrationPages(app: App, services: PageServices): void {
  const { deps } = services;
  const failFast = createFailFast(deps.dbHealth);
  publisherPages(app, services).get('/integration', 'analyst', async (context) =>
    integrationPage(context, deps.config.publicUrl, await setupChecklist({ deps, failFast }, context)),
  );
}

function integrationPage(context: PublisherContext, publicUrl: string, checklist: Html): Page {
  const { publisher, path } = context;
  const snippets = snippetsFor(publisher, publicUrl);
  const requestedKey = queryText(context, 'with');
  const current = snippets.find(({ key }) => key === requestedKey) ?? (snippets[0] as Snippet);
  const snippetTabs = snippets.map(({ key, title }) => ({
    text: title,
    href: `${path('/integration')}?with=${key}`,
    current: key === current.key,
  }));
  const { guide } = current;
  return {
    title: t('nav.integration'),
    lead: t('integration.lead'),
    nav: 'integration',
    body: html`
      ${checklist}
      ${credentialsCard(context, publicUrl)}
      ${tabs(t('integration.snippets'), snippetTabs)}
      ${copyable(current.text, t('integration.snippetOf', { title: current.title }))}
      ${guide !== null && html`<p class="hint below">${link(`/docs/guides/${guide}`, t('integration.guide'))}</p>`}
      ${liveCard(context)}`,
  };
}

function credentialsCard({ publisher, path }: PublisherContext, publicUrl: string): Html {
  return card(
    t('integration.credentials'),
    descriptionList([
      [t('integration.sdkId'), html`<code>${publisher.sdkId}</code>`],
      [t('integration.baseUrl'), html`<code>${publicUrl}</code>`],
      [t('integration.offersPerResponse'), publisher.offersPerResponse],
    ]),
    { lead: tHtml('integration.credentialsLead', { keys: (text) => link(path('/settings/keys'), text) }) },
  );
}
