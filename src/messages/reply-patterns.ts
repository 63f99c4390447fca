/**
 * Reason for a refusal by a mail server:
 * - `recipient`: the mailbox does not exist or is disabled
 * - `mailbox`: the mailbox exists but accepts no mail at the moment, for example because it is full
 * - `domain`: the domain of the address does not exist or accepts no mail
 * - `sender`: the sender or the relay, its reputation, authentication, TLS or rate
 * - `content`: the content or size of the e-mail
 * - `unclear`: no known reason
 */
export const refusals = ['recipient', 'mailbox', 'domain', 'sender', 'content', 'unclear'] as const;
export type Refusal = (typeof refusals)[number];

/**
 * Builds a regular expression from alternatives. It is matched against lower-case text without codes, links, brackets
 * and addresses.
 */
const anyOf = (flags: string, ...parts: readonly string[]): RegExp => new RegExp(parts.join('|'), flags);

/** Joins alternatives into one group. */
const group = (...parts: readonly string[]): string => `(?:${parts.join('|')})`;

/** "someone" is the placeholder for any address other than the sender's. */
const mailboxNoun = group(
  ...['users?', 'recipients?', '(?:e-?)?mail ?box(?:es)?', 'inbox', '(?:e-?mail |user )?accounts?'],
  ...['address(?:ee|es)?', 'alias(?:es)?', 'local[- ]part', 'someone', 'person'],
);
const missingAdjective = group(
  ...['unknown', 'no such', 'invalid', 'non-?existent', 'illegal', 'inexistent', 'disabled', 'deactivated'],
  ...['inactive', 'suspended', 'terminated', 'not an? (?:known|valid)', 'no valid'],
);
const missingNoun = group(
  ...['user(?: ?name)?', 'recipients?(?: address)?', 'mail ?box', '(?:e-?mail )?account', 'alias', 'local[- ]part'],
  ...['addressee', 'person'],
);
const betweenNounAndState = group(
  ...['address', 'account', 'name', 'mailbox', 'for', 'someone', 'that you tried to reach'],
  ...['that you are trying to reach', 'with this address', 'with that name'],
);
const isOrWas = group(
  ...['is', 'are', 'was', 'has been', 'have been', 'seems', 'appears', 'to be', 'currently', 'in this server'],
  'at this domain',
);
const missingState = group(
  ...['unknown', 'not (?:be )?(?:found|known|exist(?:s|ing|ent)?|recogni[sz]ed)'],
  ...['not an? (?:known|valid) (?:user|recipient|mailbox|account)', "(?:does ?n[o']t|doesn't|do not|don't) exists?"],
  ...['non-?existent', 'no longer (?:valid|exists?|active|in use|available|accept\\w* mail)', 'disabled'],
  ...['deactivated', 'inactive', 'invalid', 'suspended', 'closed', 'terminated', 'deleted', 'expired', 'blocked'],
  ...['locked', 'frozen', 'unknown to (?:us|me)'],
);

/** Phrases that mean that a mailbox does not exist or is disabled. */
export const missingMailbox = anyOf(
  'gu',
  // Matches "No such user here", "unknown or illegal alias", "inactive email address"
  String.raw`\b${missingAdjective}(?: or (?:unknown|illegal|invalid|inactive|disabled))?` +
    String.raw`(?: (?:virtual|local|destination|mail|e-?mail|target))* ${missingNoun}s?\b(?: here| by that name)?`,
  String.raw`\b(?:unknown|no such|non-?existent|inactive|disabled)` +
    String.raw`(?: e-?mail| recipient| destination)* address(?:ee)?\b`,
  String.raw`\b(?:recipient|destination) (?:e-?mail )?address (?:is |was )?(?:invalid|unknown|not valid)\b`,
  // Matches "User unknown in virtual alias table"
  String.raw`\b(?:${mailboxNoun} )?unknown in (?:the )?\w+(?: \w+){0,2} table\b`,
  // Matches "The email account that you tried to reach does not exist", "mailbox not found"
  String.raw`\b${mailboxNoun}(?: ${betweenNounAndState})*[,:.]?(?: ${isOrWas})* ${missingState}\b`,
  String.raw`\b(?:user|recipient|account|mailbox|address) (?:someone )?(?:could|can|cannot|can't)? ?not be found\b`,
  String.raw`\b(?:no mail ?box here(?: by that name)?|no mail ?box (?:found|available for)|no one with that)\b`,
  String.raw`\bno (?:user|account|one|mail ?box) (?:here )?(?:with|by|for|under|of) (?:this|that)\b`,
  String.raw`\buser (?:doesn't|does not) have an? \S+ account\b`,
  String.raw`\b(?:ex)?recip(?:ient)?notfound\b|\baddress_not_found\b|\baccountdisabledexception\b`,
  String.raw`\bbad destination mailbox\b|\bthis address no longer accepts mail\b`,
  String.raw`\bis not a known user\b|\bnot known to this system\b`,
  String.raw`\b(?:recipient|user|person|employee|addressee|someone)s? (?:is |has )?` +
    '(?:no longer (?:on (?:this )?server|an employee|with|works?|employed|at)|left (?:the|our|this) company)',
  // Outlook.com and Exchange Online report a nonexistent mailbox only by this code
  String.raw`\bmailbox unavailable s2017062302\b`,
  String.raw`\brecipient address rejected: access denied\.? as ?201806281\b`,
  String.raw`\brecipient address rejected: access denied\.? (?:as ?201806271|\S+\.protection\.outlook\.com)`,
  // German phrases
  String.raw`\bunbekannter? (?:benutzer|empf(?:ä|ae)nger|adresse)|(?:postfach|mailbox) existiert nicht`,
  '(?:benutzer|empf(?:ä|ae)nger|adresse|postfach|mailbox)(?: ist| wurde)? ' +
    '(?:unbekannt|deaktiviert|gel(?:ö|oe)scht|nicht (?:bekannt|gefunden|vorhanden))',
  // French phrases
  String.raw`\b(?:utilisateur|destinataire|adresse|bo[iî]te)` +
    '(?: destinataire| est| d au moins un destinataire| e-?mail)* ' +
    '(?:inconnue?|inexistante?|invalide|introuvable|d[ée]sactiv[ée]e?)',
  String.raw`\ble compte du destinataire est bloqu[ée]`,
  // Spanish, Italian and Portuguese phrases
  String.raw`\b(?:usuario|destinatario|buz[oó]n|cuenta)(?: es| est[áa])? ` +
    '(?:desconocid[oa]|inexistente|no existe|no encontrad[oa]|inv[áa]lid[oa]|deshabilitad[oa])',
  String.raw`\b(?:utente|destinatario|casella|indirizzo)(?: è)? ` +
    '(?:sconosciut[oa]|inesistente|errato|non esiste|disattivat[oa])',
  String.raw`\b(?:usu[áa]rio|destinat[áa]rio|conta)(?: é)? ` +
    '(?:desconhecid[oa]|inexistente|n[ãa]o existe|inv[áa]lid[oa]|desativad[oa])',
  // Dutch, Polish, Japanese and Chinese phrases
  String.raw`\b(?:gebruiker|ontvanger) (?:is )?onbekend|\bonbekende (?:gebruiker|ontvanger)`,
  String.raw`\bnie istnieje\b|\bnie ma takiego\b`,
  String.raw`(?:宛先|ユーザー?|メールアドレス)\S{0,12}(?:存在しません|見つかりません|不明)`,
  String.raw`(?:用户|收件人|邮箱|帐号|账号)\S{0,6}不存在`,
);

/**
 * Phrases about the state of an account. They are ambiguous, because "Account suspended" may refer to the account at
 * the relay.
 */
export const accountState = anyOf(
  'u',
  String.raw`\b(?:disabled|deactivated|inactive|suspended|closed|terminated|deleted|expired|blocked|locked|frozen)\b`,
);

/** Words that indicate that a reply is about the recipient. */
export const recipientWords = anyOf(
  'u',
  'recipient|mail ?box|inbox|addressee|tried to reach|trying to reach|someone|destinat|postfach',
);

/** Words that show that a reply is about the sender's account at the relay. */
export const ownAccount = anyOf(
  'u',
  String.raw`\byour (?:e?-?mail |smtp |user )?(?:account|mail ?box|user|login|subscription|plan|trial)`,
);

type Blame = { refusal: Refusal; pattern: RegExp };

const blame = (refusal: Refusal, ...parts: readonly string[]): Blame => ({ refusal, pattern: anyOf('u', ...parts) });

/** Phrases for reasons other than a nonexistent mailbox. The first match applies. */
export const blames: readonly Blame[] = [
  blame('sender', '(?:sending|daily|hourly|relay|outgoing|outbound)[^.]{0,20}(?:quota|limit)'),
  blame(
    'mailbox',
    'over ?-?quota|quota[^.]{0,40}(?:exceed|full|violat|reached)',
    String.raw`exceed\w*[^.]{0,60}(?:quota|storage|mailbox size)|out of storage|full mail ?box`,
    '(?:mail ?box|mail ?folder|inbox|account|storage|mail ?drop|buz[oó]n|casella|bo[iî]te|postfach|user|recipient)' +
      String.raw`[^.]{0,40}\b(?:full|pleine|lleno|piena|voll|cheia)\b`,
    '(?:exhausted|not enough|insufficient)[^.]{0,30}(?:storage|space)|zu ?viele mails auf dem',
    'receiving (?:mail|messages?|e-?mails?) (?:too|at a rate)',
    '(?:user|recipient|mailbox)[^.]{0,40}too (?:quickly|many messages)',
    '(?:refused|rejected|blocked) (?:due to|by|because of) (?:the |this )?(?:recipient|user)|recipient preferences',
    'does not want|vacation',
  ),
  blame(
    'content',
    String.raw`virus|malware|phish|\bspam\b|\bspammy\b|unsolicited|\bube\b|\buce\b|junk ?mail|attachment`,
    'message (?:content|size|is too|too)|content (?:reject|filter|error|denied|blocked)|its content',
    String.raw`headers? (?:error|too)|too (?:large|big)|size limit|(?:maximum|max|exceed\w*)[^.]{0,30}\bsize\b|8-?bit`,
    'multiple addresses in from|missing[^.]{0,20}header|message-id|disallowed header|message header',
    String.raw`non-?compliant|rfc ?[25]\d22\b|date header|from: ?header`,
  ),
  blame(
    'sender',
    String.raw`sender|sending|\bfrom (?:address|domain|header)|mail from\b|return[- ]path|reverse[- ]path`,
    'envelope[- ]from|originat|responsible address|emetteur|absender|remitente|mittente',
    String.raw`\brelay|rcpthosts|not (?:a )?local (?:host|domain|user)|gateway`,
    String.raw`\b(?:rbl|dnsbl|rhsbl|uribl|surbl|sbl|xbl|pbl|dbl|css|spamhaus|spamcop|sorbs|barracuda\w*|senderbase)\b`,
    String.raw`\b(?:abuse\w*|reputation)\b|spam|(?:black|block|deny|white|allow)[- ]?list|listed (?:at|in|by|on)`,
    String.raw`\bblock(?:ed|ing|s)?\b|\bban(?:ned)?\b|bulk|complain`,
    String.raw`\bhelo\b|\behlo\b|reverse dns|\brdns\b|\bptr\b|\bfqdn\b|\bspf\b|\bdkim\b|\bdmarc\b|\barc\b`,
    String.raw`\bclient (?:host|address|ip)|ip address|ip frequency`,
    String.raw`(?:ip|host|hostname|server|connection|connecting)\b[^.]{0,40}` +
      '(?:resol|reject|refus|den[iy]|not (?:allowed|accepted|permitted|authori))',
    String.raw`authenti|authori[sz]|\bauth\b|smtp[- ]auth|credential|password|\blog ?in\b`,
    String.raw`\btls\b|starttls|encrypt|certificate|secure connection|insecure`,
    String.raw`too (?:many|fast|frequent|quick|much)|rate[- ]?limit|\brate\b|throttl|frequency`,
    String.raw`(?:per|this|last) (?:second|minute|hour|day)\b|daily|hourly|concurren|slow down|trop de`,
    String.raw`sending limit|limit (?:exceed|reached)|exceed\w*[^.]{0,30}\blimit`,
    String.raw`\byour (?:account|ip|host|server|domain|address|network|isp|provider|system|connection|client|mailer)`,
    String.raw`\byour (?:country|helo|mta|service|smtp|organi[sz]ation|mail server|access)`,
    'callout|call-out|verif(?:y|ication) (?:failed|error)|polic(?:y|ies)|prohibited|forbidden|sign ?up|payment',
    'trial|sandbox|unverified|not verified|suspended (?:for|due)',
    'command|sequence|pipelin|bare (?:lf|cr)|syntax error|protocol',
  ),
  blame(
    'domain',
    "(?:domain|host|mx|dns)[^.]{0,30}(?:not found|unknown|invalid|not exist|n't exist|unreachable|not reachable)",
    '(?:domain|host|mx|dns)[^.]{0,30}(?:no mx|null mx)|null mx|no mx|(?:unknown|invalid|bad|no such) (?:domain|host)',
    '(?:unknown|invalid|bad|no such) recipient (?:domain|host)|unroute?able (?:mail )?domain|no route|name ?server',
    String.raw`\bnxdomain\b|does not accept mail|recipient domain|(?:^|\s)\S+\.\S+ does not exist`,
  ),
  blame(
    'unclear',
    String.raw`temporar|try (?:again|later)|\blater\b|gr[ea]ylist|postgrey|deferr|internal (?:error|server)`,
    'system error|local error|config(?:uration)? error|service (?:is )?(?:currently )?(?:not available|unavailable)',
    String.raw`timed? ?out|expired(?: in|,|:)|\bhops\b|\bloop\b|in progress|disk (?:space|full)|resources?\b`,
    'lookup (?:fail|error)',
  ),
];

/** Words that make a status about the recipient doubtful if no phrase confirms it. */
export const doubts = anyOf(
  'u',
  'refus|den(?:y|ied)|not (?:allowed|permitted|accepted|authori)|preference|restrict|filter|content|undeliver',
);

const statusRefusals: readonly (readonly [RegExp, Refusal])[] = [
  [/^\d\.(?:1\.1|1\.6|2\.1|7\.13)$/, 'recipient'],
  [/^\d\.(?:1\.2|1\.10|4\.4|7\.18)$/, 'domain'],
  [/^\d\.(?:1\.7|1\.8|1\.9|4\.5|5\.3)$/, 'sender'],
  [/^\d\.(?:2\.2|2\.4|7\.2|7\.17)$/, 'mailbox'],
  [/^\d\.(?:2\.3|3\.4|6\.\d+)$/, 'content'],
  [/^\d\.7\.\d+$/, 'sender'],
];

/**
 * Returns the refusal reason for an enhanced status code from the IANA registry, or undefined if the code is not
 * specific.
 */
export const refusalOfStatus = (status: string): Refusal | undefined =>
  statusRefusals.find(([pattern]) => pattern.test(status))?.[1];
