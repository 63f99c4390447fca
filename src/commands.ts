import { accountCommands } from './accounts/commands.ts';
import { agentCommands } from './agents/commands.ts';
import { alertCommands } from './alerts/commands.ts';
import { audienceCommands } from './audiences/commands.ts';
import { catalogueCommands } from './catalog-admin/commands.ts';
import { type Command, exitCodes, type Run } from './command-line/command.ts';
import { couponCommands } from './coupons/commands.ts';
import { dataCommands } from './data-files/commands.ts';
import { demoCommands } from './demo/commands.ts';
import { draftCommands } from './drafts/commands.ts';
import { embeddedDatabases } from './embedded/databases.ts';
import { experimentCommands } from './experiments/commands.ts';
import { forecastCommands } from './forecasts/commands.ts';
import { landingPageCommands } from './landing-pages/commands.ts';
import { messageCommands } from './messages/commands.ts';
import { offerCommands } from './offers/commands.ts';
import type { EmbeddedDatabases } from './platform/db/embedded.ts';
import { portalCommands } from './portal/commands.ts';
import { privacyCommands } from './privacy/commands.ts';
import { reportCommands } from './reports/commands.ts';
import type { LoadSealed } from './runtime/commands/secrets.ts';
import { doctorCommands, secretsCommands } from './runtime/commands.ts';
import { sourceCommands } from './sources/commands.ts';
import { webhookCommands } from './webhooks/commands.ts';

/** Starts the server. The imported module runs until the process receives a signal, and then exits. */
const serve: Run = async () => {
  await import('./server.ts');
  return exitCodes.ok;
};

const start: Command = {
  name: 'start',
  about: 'Starts the service; without DATABASE_URL with an embedded demo database in DATA_DIR',
  options: {},
  examples: ['start'],
  load: async () => serve,
};

const completion: Command = {
  name: 'completion',
  args: 'bash|zsh|fish',
  about: 'Prints a shell completion script',
  options: {},
  examples: ['completion bash >> ~/.bashrc', 'completion fish > ~/.config/fish/completions/perkwire.fish'],
  load: async () => (await import('./command-line/completion.ts')).printCompletion,
};

/** Optional services that commands can use. */
export const services: { embedded?: EmbeddedDatabases } = {
  embedded: embeddedDatabases,
};

/**
 * Columns that are encrypted with SECRETS_KEY. The canary must come last, so that once it is encrypted with the new
 * key, all other columns are too.
 */
export const sealedColumns: readonly LoadSealed[] = [
  async () => (await import('./webhooks/endpoint-store.ts')).sealedEndpointColumns,
  async () => (await import('./alerts/rules.ts')).sealedAlertUrls,
  async () => (await import('./catalog/conversion-secret.ts')).sealedConversionSecrets,
  async () => (await import('./sources/settings.ts')).sealedSourceSecrets,
  async () => (await import('./coupons/seals.ts')).sealedCodes,
  async () => (await import('./messages/store.ts')).sealedMessages,
  async () => (await import('./accounts/two-factor.ts')).sealedTwoFactor,
  async () => (await import('./accounts/sessions.ts')).sealedIdTokens,
  async () => (await import('./management/idempotency.ts')).sealedAnswers,
  async () => (await import('./privacy/erasure-job.ts')).sealedSubjects,
  async () => (await import('./platform/security/canary.ts')).sealedCanary,
];

/**
 * All `perkwire` commands, in the order in which the help lists them. They are imported directly from the modules'
 * command files, because creating a module requires a database and takes too long just to show the help.
 */
export const commands: readonly Command[] = [
  start,
  ...webhookCommands,
  ...offerCommands,
  ...catalogueCommands,
  ...landingPageCommands,
  ...alertCommands,
  ...audienceCommands,
  ...sourceCommands,
  ...couponCommands,
  ...draftCommands,
  ...messageCommands,
  ...agentCommands,
  ...doctorCommands,
  ...accountCommands,
  ...secretsCommands(sealedColumns),
  ...reportCommands,
  ...dataCommands,
  ...experimentCommands,
  ...forecastCommands,
  ...portalCommands,
  ...privacyCommands,
  ...demoCommands,
  completion,
];
