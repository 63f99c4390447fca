/** Mail server replies which say that the mailbox does not exist or is disabled. */
export const missingMailboxes: readonly (readonly [server: string, reply: string])[] = [
  ['Postfix', '550 5.1.1 <reader@shop.example>: Recipient address rejected: User unknown in local recipient table'],
  ['Postfix', '550 5.1.1 <reader@shop.example>: Recipient address rejected: User unknown in virtual mailbox table'],
  ['Postfix', '550 5.1.1 <reader@shop.example>: Recipient address rejected: User unknown in virtual alias table'],
  ['Postfix', '550 5.1.1 <reader@shop.example>: Recipient address rejected: User unknown in relay recipient table'],
  [
    'Postfix, verification',
    '550 5.1.1 <reader@shop.example>: Recipient address rejected: undeliverable address: host mx.shop.example' +
      '[192.0.2.7] said: 550 5.1.1 User unknown (in reply to RCPT TO command)',
  ],
  [
    'Postfix, moved',
    '550 5.1.6 <reader@shop.example>: Recipient address rejected: User has moved to other@shop.example',
  ],
  ['Sendmail', '550 5.1.1 <reader@shop.example>... User unknown'],
  ['Sendmail, virtual users', '553 5.3.0 <reader@shop.example>... Addressee unknown'],
  ['Exim', '550 No such person at this address'],
  ['Exim, cPanel', '550 No Such User Here'],
  ['Exim, several lines', '550-Unknown user reader\n550 No such user here'],
  ['qmail', '550 sorry, no mailbox here by that name. (#5.1.1)'],
  ['qmail, chkuser', '511 sorry, no mailbox here by that name (#5.1.1 - chkuser)'],
  ['qmail, vpopmail', '550 Sorry, no mailbox here by that name. vpopmail (#5.1.1)'],
  ['Exchange', '550 5.1.1 RESOLVER.ADR.RecipNotFound; not found'],
  ['Exchange', '550 5.1.1 RESOLVER.ADR.ExRecipNotFound; not found'],
  [
    'Exchange Online',
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient reader@shop.example not found by SMTP address lookup',
  ],
  [
    'Exchange Online, directory',
    '550 5.4.1 Recipient address rejected: Access denied. AS(201806281) ' +
      '[AB1EUR01FT001.eop-EUR01.prod.protection.outlook.com]',
  ],
  ['Exchange, disabled', '554 5.2.1 STOREDRV.Deliver.Exception:AccountDisabledException; account disabled'],
  ['Outlook.com', '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).'],
  [
    'Gmail',
    '550-5.1.1 The email account that you tried to reach does not exist. Please try\n' +
      "550-5.1.1 double-checking the recipient's email address for typos or\n" +
      '550-5.1.1 unnecessary spaces. Learn more at\n550 5.1.1 ' +
      'https://support.google.com/mail/?p=NoSuchUser a1-2 - gsmtp',
  ],
  [
    'Gmail, disabled',
    '550-5.2.1 The email account that you tried to reach is disabled. Learn more at\n' +
      '550 5.2.1 https://support.google.com/mail/?p=DisabledUser a1-2 - gsmtp',
  ],
  [
    'Gmail, inactive',
    '550 5.2.1 The email account that you tried to reach is inactive. For more information, go ' +
      'to https://support.google.com/mail/?p=InactiveUser',
  ],
  [
    'Yahoo',
    "554 delivery error: dd This user doesn't have a yahoo.com account (reader@shop.example) [0] - mta1.mail.example",
  ],
  ['Yahoo', '552 1 Requested mail action aborted, mailbox not found'],
  [
    'AOL',
    '554 30 Sorry, your message to reader@shop.example cannot be delivered. This mailbox is ' + 'disabled (554.30).',
  ],
  ['iCloud', '550 5.1.1 <reader@shop.example>: inactive email address'],
  ['iCloud', '550 5.1.1 unknown or illegal alias: reader@shop.example'],
  ['GMX', '550 5.1.1 Requested action not taken: mailbox not found'],
  [
    'Mail.ru',
    '550 Message was not accepted -- invalid mailbox. Local mailbox reader@shop.example is ' +
      'unavailable: user not found',
  ],
  ['Comcast', '550 5.1.1 Not our Customer: recipient does not exist'],
  ['Proofpoint', '550 5.1.1 User Unknown'],
  ['Proofpoint', '550 5.1.1 <reader@shop.example>... Invalid recipient'],
  ['Mimecast', '550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550 [abc.us1]'],
  [
    'Barracuda',
    '550 5.1.1 permanent failure for one or more recipients (reader@shop.example:550 5.1.1 ' + 'User unknown)',
  ],
  ['Symantec', '550 5.1.1 unknown user'],
  ['Lotus Domino', '550 reader@shop.example... No such user'],
  ['Dovecot', "550 5.1.1 <reader@shop.example> User doesn't exist: reader@shop.example"],
  ['Zimbra', '550 5.1.1 <reader@shop.example>: Recipient address rejected: shop.example: account does not exist'],
  ['Orange', '550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR204_416 [416]'],
  [
    'Orange, blocked account',
    '550 5.5.0 Le compte du destinataire est bloque. The recipient account is blocked. LPN007_426',
  ],
  ['German', '550 Empfänger unbekannt'],
  ['German', '550 5.1.1 Das Postfach existiert nicht'],
  ['Italian', '550 Destinatario sconosciuto'],
  ['Spanish', '550 5.1.1 Usuario desconocido'],
  ['Polish', '550 5.1.1 Nie ma takiego konta'],
  ['disabled account by status', '525 5.7.13 Disabled recipient address'],
  ['disabled mailbox by status', '550 5.2.1 mailbox disabled, not accepting messages'],
  ['status only', '550 5.1.1'],
  ['closed account', '550 5.1.1 This account has been closed'],
  ['deleted mailbox', '550 Mailbox has been deleted'],
  ['former employee', '550 5.1.1 reader@shop.example is no longer an employee of this company'],
  ['no longer valid', '550 5.1.1 reader@shop.example is no longer valid'],
];

/** Replies with any other reason. The reader is not suppressed. */
export const otherRefusals: readonly (readonly [refusal: string, server: string, reply: string])[] = [
  // Sender and relay
  ['sender', 'relay', '550 relay not permitted'],
  ['sender', 'relay', '550 5.7.1 <reader@shop.example>: Relay access denied'],
  ['sender', 'relay', '554 5.7.1 <reader@shop.example>: Relay access denied'],
  ['sender', 'relay', '550 5.7.1 Unable to relay for reader@shop.example'],
  ['sender', 'relay', '550 5.1.1 relaying denied'],
  ['sender', 'relay', '550 5.7.64 TenantAttribution; Relay Access Denied'],
  ['sender', 'relay', "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)"],
  ['sender', 'relay', '551 5.7.1 User not local; relaying denied'],
  [
    'sender',
    'verification',
    '550-Verification failed for <perks@relay.example>\n550-No Such User Here\n550 Sender verify failed',
  ],
  ['sender', 'verification', '550 Sender verify failed'],
  ['sender', 'verification', '550 5.1.0 Sender verification failed: 550 5.1.1 user unknown'],
  ['sender', 'verification', '550 5.1.1 Callout verification failed: 550 5.1.1 User unknown'],
  [
    'sender',
    'sender address',
    '550 5.1.0 <perks@relay.example>: Sender address rejected: User unknown in virtual alias table',
  ],
  ['sender', 'sender address', '550 5.1.1 <perks@relay.example>: User unknown'],
  [
    'sender',
    'sender address',
    '553 5.1.8 <perks@relay.example>... Domain of sender address perks@relay.example does not exist',
  ],
  ['sender', 'sender address', '501 5.1.8 Sender address rejected'],
  ['sender', 'sender address', '550 5.1.8 Access denied, bad outbound sender'],
  ['sender', 'sender address', '501 5.1.7 Bad sender address syntax'],
  ['sender', 'sender address', '550 5.1.7'],
  [
    'sender',
    'sender limit',
    '550 5.4.5 Daily user sending limit exceeded. For more information on Gmail sending limits ' +
      'go to https://support.google.com/a/answer/166852',
  ],
  ['sender', 'sender limit', '550 5.4.5 Daily SMTP relay limit exceeded for customer'],
  ['sender', 'sender limit', '550 5.4.5'],
  [
    'sender',
    'sender limit',
    '550 5.1.1 <reader@shop.example> - 192.0.2.4 has sent to too many recipients this hour. IB607',
  ],
  ['sender', 'block list', '550 5.7.1 Service unavailable; Client host [192.0.2.4] blocked using zen.spamhaus.org'],
  [
    'sender',
    'block list',
    '554 5.7.1 <reader@shop.example>: Recipient address rejected: https://www.spamhaus.org/query/ip/192.0.2.4',
  ],
  ['sender', 'block list', '550 192.0.2.4 is listed in an RBL'],
  [
    'sender',
    'block list',
    '550 5.2.1 Mailbox unavailable. Your IP address 192.0.2.4 is blacklisted using SPAMHAUS-XBL',
  ],
  ['sender', 'block list', '553 http://www.spamhaus.org/query/bl?ip=192.0.2.4'],
  [
    'sender',
    'block list',
    '550 5.1.1 <reader@shop.example>: undeliverable address: host mx.shop.example said: 550 ' +
      '5.7.1 Client host blocked using bl.spamcop.net',
  ],
  [
    'sender',
    'block list',
    '550 5.7.606 Access denied, banned sending IP [192.0.2.4]. To request removal visit https://sender.office.com',
  ],
  [
    'sender',
    'block list',
    "550 5.7.1 Unfortunately, messages from [192.0.2.4] weren't sent. Please contact your " +
      'Internet service provider since part of their network is on our block list (S3150).',
  ],
  ['sender', 'block list', '554 5.7.1 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.4'],
  [
    'sender',
    'reputation',
    '550 5.7.1 [TSS09] All messages from 192.0.2.4 will be permanently deferred; Retrying will ' +
      'NOT succeed. Poor reputation',
  ],
  ['sender', 'reputation', '554 5.7.1 Rejected due to poor sender reputation'],
  ['sender', 'host name', '550 Access denied - Invalid HELO name (See RFC2821 4.1.1.1)'],
  ['sender', 'host name', '504 5.5.2 <relay>: Helo command rejected: need fully-qualified hostname'],
  ['sender', 'host name', '550 5.7.1 <relay.example>: Helo command rejected: Host not found'],
  ['sender', 'host name', '550 5.7.25 The IP address sending this message does not have a PTR record setup'],
  ['sender', 'host name', '554 5.7.1 Client host rejected: cannot find your hostname, [192.0.2.4]'],
  ['sender', 'host name', '550 5.1.1 reverse DNS lookup failed for 192.0.2.4'],
  [
    'sender',
    'authentication',
    '550 Please turn on SMTP authentication in your mail client, or login to the IMAP/POP3 ' +
      'server before sending your message',
  ],
  [
    'sender',
    'authentication',
    '550-Please turn on SMTP Authentication in your mail client.\n550 (relay.example) is not ' +
      'permitted to relay through this server without authentication.',
  ],
  ['sender', 'authentication', '530 5.7.0 Authentication required'],
  ['sender', 'authentication', '535 5.7.8 Error: authentication failed: account disabled'],
  ['sender', 'authentication', '550 5.7.1 RESOLVER.RST.AuthRequired; authentication required'],
  ['sender', 'authentication', '550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required'],
  [
    'sender',
    'authentication',
    "550 5.7.26 Unauthenticated email from relay.example is not accepted due to domain's DMARC policy.",
  ],
  [
    'sender',
    'authentication',
    '550 5.7.23 The message was rejected because of Sender Policy Framework violation -> SPF fail',
  ],
  ['sender', 'authentication', '550 5.7.30 This mail has been blocked because DKIM does not pass.'],
  ['sender', 'encryption', '530 5.7.0 Must issue a STARTTLS command first'],
  ['sender', 'encryption', '550 5.7.1 TLS required'],
  ['sender', 'account of the relay', '550 5.7.1 Your account has been disabled, contact support'],
  ['sender', 'account of the relay', '550 5.1.1 Your account is suspended'],
  [
    'sender',
    'account of the relay',
    '554 Message rejected: Email address is not verified. The following identities failed the ' +
      'check in region EU-WEST-1',
  ],
  ['unclear', 'account of the relay', '550 Account suspended'],
  ['unclear', 'account of the relay', '550 User account is disabled'],
  ['sender', 'rate', '550 5.7.1 Too many messages from your server, slow down'],
  ['sender', 'rate', '550 Ip frequency limited [192.0.2.4]. http://service.mail.qq.com'],
  ['sender', 'policy', '550 5.7.1 Message rejected by policy'],
  [
    'sender',
    'policy',
    '550 Administrative prohibition - envelope blocked - https://community.mimecast.com/docs/DOC-1369#550',
  ],
  // Existing mailboxes
  ['mailbox', 'full', '552 5.2.2 Mailbox full'],
  ['mailbox', 'full', '552 Requested mail action aborted: exceeded storage allocation'],
  ['mailbox', 'full', '552 5.2.2 <reader@shop.example>: user is over quota'],
  [
    'mailbox',
    'full',
    '552-5.2.2 The email account that you tried to reach is over quota. Please ' +
      'direct\n552-5.2.2 the recipient to\n552 5.2.2 ' +
      'https://support.google.com/mail/?p=OverQuotaPerm',
  ],
  ['mailbox', 'full', "552-5.2.2 The recipient's inbox is out of storage space and inactive."],
  ['mailbox', 'full', '550 5.1.1 <reader@shop.example>: mailbox is full'],
  ['mailbox', 'full', '554 5.2.2 STOREDRV.Deliver; mailbox full'],
  ['mailbox', 'full', '550 5.7.1 Sorry, that mailbox is full'],
  ['mailbox', 'full', '552 5.2.2'],
  [
    'mailbox',
    'too quickly',
    '550-5.2.1 The user you are trying to contact is receiving mail at a rate that\n550-5.2.1 ' +
      'prevents additional messages from being delivered.\n550 5.2.1 ' +
      'https://support.google.com/mail/?p=ReceivingRatePerm',
  ],
  ['mailbox', 'too quickly', '550 5.2.1 The user you are trying to contact is receiving mail too quickly.'],
  ['mailbox', 'preferences', '550 5.1.1 RCP-P2 Refused due to recipient preferences'],
  // Content
  ['content', 'size', '552 5.3.4 Message size exceeds fixed limit'],
  ['content', 'size', '550 5.2.3 RESOLVER.RST.RecipSizeLimit; message too large for this recipient'],
  ['content', 'spam', '554 5.7.1 Message rejected as spam'],
  ['content', 'spam', '550 5.7.1 Message content rejected, UBE, id=1-2'],
  ['content', 'virus', '550 5.1.1 Virus detected'],
  [
    'content',
    'attachment',
    '552 5.7.0 This message was blocked because its content presents a potential security issue.',
  ],
  // Domains
  ['domain', 'host', '550 5.1.2 <reader@shop.example>... Host unknown'],
  ['domain', 'host', '550 5.1.2 <reader@shop.example>: Recipient address rejected: Domain not found'],
  [
    'domain',
    'null MX',
    '556 5.1.10 <reader@shop.example>: Recipient address rejected: Domain shop.example does not accept mail (nullMX)',
  ],
  // Ambiguous replies
  ['unclear', 'standard text', '550 Requested action not taken: mailbox unavailable'],
  ['unclear', 'standard text', '550 Unrouteable address'],
  ['unclear', 'standard text', '550 #5.1.0 Address rejected.'],
  ['unclear', 'standard text', '550 <reader@shop.example>: Recipient address rejected.'],
  ['unclear', 'standard text', '554 Transaction failed'],
  ['unclear', 'no text', '550'],
  ['unclear', 'wait', '550 5.2.1 mailbox temporarily disabled'],
  ['unclear', 'wait', '554 4.4.7 Message expired: unable to deliver in 840 minutes'],
  [
    'unclear',
    'temporary code',
    '450 4.1.1 <reader@shop.example>: Recipient address rejected: User unknown in local recipient table',
  ],
  ['unclear', 'temporary code', '450 5.1.1 User unknown'],
  ['unclear', 'temporary status', '550 4.2.1 The mailbox is disabled'],
];
