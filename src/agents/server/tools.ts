/** Tool of the MCP server. It calls one operation of the API, from which its description and arguments are derived. */
export type AgentTool = {
  name: string;
  title: string;
  /** Operation in the OpenAPI description. */
  operationId: string;
  /** Effect of a call: `read`, `write` (adds or repeats something) or `destructive` (changes what users see). */
  effect: 'read' | 'write' | 'destructive';
  /** Description, if that of the operation mentions headers or parameters that the tool does not have. */
  about?: string;
  /** Advice for the language model, in addition to the description of the operation. */
  advice?: string;
  /** Query parameters that every call sends. The agent cannot set them. */
  fixed?: Readonly<Record<string, string>>;
};

const read = (name: string, title: string, operationId: string, advice?: string): AgentTool => ({
  name,
  title,
  operationId,
  effect: 'read',
  ...(advice !== undefined && { advice }),
});

/** All tools that call the API (docs/guides/agents.md#tools). */
export const agentTools: readonly AgentTool[] = [
  read('explain_offers', 'Explain a fetch', 'explainOffers', 'Use it to find out why an offer is not shown.'),
  read('get_decision', 'Get the decision of a session', 'redecideSession'),
  read('find_story', 'Find a session by any ID', 'findStory'),
  {
    ...read('get_report', 'Get a report', 'reportActivity', 'Group by one dimension at a time to get short responses.'),
    about: 'Returns sessions, events and revenue by day and dimension. Periods without activity are omitted.',
    fixed: { format: 'json' },
  },
  read('list_report_rows', 'List the rows that a report counts', 'listActivityRows'),
  read('list_deliveries', 'List webhook deliveries', 'listDeliveries'),
  read('get_delivery', 'Get a webhook delivery with its attempts', 'getDelivery'),
  {
    name: 'resend_delivery',
    title: 'Resend a webhook delivery',
    operationId: 'redeliver',
    effect: 'write',
    advice: 'This calls the receiver again. Ask the user first, unless the user requested it.',
  },
  read('list_endpoints', 'List webhook endpoints', 'listWebhookEndpoints'),
  read('get_endpoint', 'Get a webhook endpoint', 'getWebhookEndpoint'),
  read('list_experiments', 'List experiments', 'listExperiments'),
  { ...read('get_experiment', 'Get an experiment', 'getExperiment'), about: 'Returns an experiment with its arms.' },
  read('get_experiment_report', 'Get the result of an experiment', 'reportExperiment'),
  {
    name: 'create_experiment',
    title: 'Create an experiment',
    operationId: 'createExperiment',
    effect: 'write',
    advice: 'Leave `start_at` empty. The experiment then stays a draft until a person starts it.',
  },
  read('list_api_calls', 'List API calls', 'listApiCalls', 'Use it to find out why calls are rejected or slow.'),
  read('count_api_calls', 'Count API calls by endpoint and error', 'listApiCallGroups'),
  read('list_campaigns', 'List campaigns', 'listCampaigns'),
  { ...read('get_campaign', 'Get a campaign', 'getCampaign'), about: 'Returns a campaign with all of its fields.' },
  read('list_offers', 'List offers', 'listOffers'),
  { ...read('get_offer', 'Get an offer', 'getOffer'), about: 'Returns an offer with all of its fields.' },
  read('list_drafts', 'List proposed changes', 'listDrafts', 'Use `state=waiting` to list drafts that need approval.'),
  { ...read('get_draft', 'Get a proposed change', 'getDraft'), about: 'Returns a proposed change with its state.' },
  {
    name: 'propose_change',
    title: 'Propose a change',
    operationId: 'createDraft',
    effect: 'write',
    advice: 'Nothing changes for users until the draft is approved.',
  },
  {
    name: 'approve_draft',
    title: 'Approve a proposed change',
    operationId: 'approveDraft',
    effect: 'destructive',
    advice: 'The change takes effect immediately. Show the user the draft and ask before you approve it.',
  },
];
