import type { EndUserMessages } from './en.ts';

export const it: EndUserMessages = {
  endUser: {
    unit: {
      labels: {
        offers: 'Offerte',
        close: 'Chiudi',
        done: 'Fatto',
        back: 'Offerta precedente',
        terms: 'Termini e condizioni',
        progress: 'Offerta {current} di {total}',
        saved: 'Offerta salvata',
        newTab: '(si apre in una nuova scheda)',
      },
      settings: {
        usp_cta_text: 'Scegli questo vantaggio',
        perkswallet_cta: 'Salva per dopo',
        saved_offer_text: 'Salvata',
        offerwall_cta: 'Altre offerte',
      },
      styles: { header: { text: 'Grazie! Scegli un vantaggio.' }, footer: { privacy: 'Privacy' } },
      offer: { cta_yes: 'Sì, grazie', cta_no: 'No, grazie' },
    },
    offerwall: {
      title: 'Altre offerte',
      loading: 'Caricamento delle offerte…',
      needsScript: 'Questa pagina richiede JavaScript.',
      search: 'Cerca offerte',
      categories: 'Categorie',
      all: 'Tutte',
      featured: 'Offerte in evidenza',
      showMore: 'Mostra altre',
      end: 'Hai visto tutte le offerte.',
      noMatch: 'Nessuna offerta corrisponde.',
      retry: 'Riprova',
      badLink: 'Questo link non è più valido.',
      failed: 'Non è stato possibile caricare le offerte.',
      details: 'Dettagli',
      notEnabled: { title: 'Non disponibile', text: 'Qui non c’è una pagina di offerte.' },
      invalidLink: {
        title: 'Questo link non funziona',
        text: 'È incompleto o scaduto. Aprilo di nuovo da dove l’hai trovato.',
      },
    },
    message: {
      title: '{count, plural, =1 {Il tuo vantaggio} other {I tuoi {count} vantaggi}}',
      why: 'Ricevi questa e-mail perché l’hai richiesta su {publisher}.',
      unsubscribe: 'Annulla l’iscrizione',
      use: 'Usa',
      goneTitle: 'Nessun’altra e-mail',
      gone: 'Non riceverai più queste e-mail.',
      question: 'Non vuoi più ricevere queste e-mail?',
      reminder: 'Un’offerta salvata sta per terminare',
      confirmTitle: 'Conferma il tuo indirizzo',
      confirmText:
        '{publisher} ti invierà i vantaggi via e-mail dopo la conferma di questo indirizzo. Se non li hai ' +
        'richiesti, non fare nulla.',
      confirm: 'Conferma',
      confirmed: 'Confermato. I tuoi vantaggi sono in arrivo.',
    },
    coupon: { code: 'Il tuo codice', until: 'Valido fino al {date}' },
    wallet: {
      title: 'Offerte salvate',
      count: '{count, plural, =1 {1 offerta salvata} other {{count} offerte salvate}}',
      empty: 'Ancora nessuna offerta salvata',
      emptyText: 'Le offerte che salvi per dopo compaiono qui.',
      question: 'Salvare questa offerta per dopo?',
      save: 'Salva',
      savedOn: 'Salvata il {date}',
      expired: 'Non più disponibile',
      open: 'Apri',
      remove: 'Rimuovi',
      notEnabled: { title: 'Non disponibile', text: 'Qui non è possibile salvare offerte.' },
      invalidLink: {
        title: 'Questo link non funziona',
        text: 'È incompleto o scaduto. Apri di nuovo le tue offerte salvate.',
      },
    },
    privacy: {
      title: 'Le offerte e la tua privacy',
      intro:
        '{publisher} ti mostra offerte dei suoi partner. Questa pagina spiega quali dati vengono conservati a tale ' +
        'scopo, per quanto tempo e come richiederli.',
      stored: 'Che cosa viene conservato',
      data: 'Dati',
      purpose: 'Finalità',
      kept: 'Durata',
      days: '{count} giorni',
      activity:
        'Le offerte che ti sono state mostrate, che hai aperto, salvato o rifiutato e che cosa hai acquistato ' +
        'tramite esse, quando, in quale lingua e su quale tipo di dispositivo, con il Paese, la regione e la città ' +
        'del tuo indirizzo di rete',
      activityPurpose: 'Conteggio e pagamento da parte dei partner',
      identity: 'Un numero al posto del tuo nome e l’identificativo con cui {publisher} ti conosce',
      identityPurpose:
        'Limitare quante volte vedi un’offerta, rispettare un «no, grazie» e comunicare i tuoi vantaggi a {publisher}',
      identityKept:
        'L’identificativo {count} giorni; il numero, con quante volte hai visto un’offerta e il tuo «no, grazie», ' +
        'finché non viene cancellato',
      attributes: 'Dati aggiunti da {publisher}, ad esempio un numero d’ordine',
      attributesPurpose: 'Scegliere offerte per te e restituirli a {publisher} insieme a un acquisto che hai fatto',
      attributesKept:
        '{count} giorni; quelli che servono anche per visite successive, finché non scadono o vengono cancellati',
      saved: 'Le offerte che hai salvato e i codici che hai ricevuto',
      savedPurpose: 'Mostrartele di nuovo',
      savedKept:
        'Le offerte finché non le rimuovi; i codici fino a {count} giorni dopo la scadenza, quelli senza scadenza ' +
        '{longest} giorni',
      email: 'Il tuo indirizzo e-mail, cifrato, se hai chiesto vantaggi o un promemoria via e-mail',
      emailPurpose: 'Inviarti ciò che hai chiesto',
      emailKept:
        'Fino all’invio dell’e-mail; al massimo altri {count} giorni se l’invio non riesce o non confermi l’indirizzo',
      messages: 'I messaggi a {publisher} sulle tue scelte',
      messagesPurpose: 'Consegna',
      notStored: 'Che cosa non viene conservato',
      notStoredAddress:
        'Il tuo indirizzo di rete: serve a determinare il Paese, la regione e la città in cui ti trovi e viene poi ' +
        'eliminato.',
      notStoredAsked: 'Non ti vengono chiesti né indirizzo e-mail né numero di telefono.',
      notStoredDevice:
        'Le offerte salvano sul tuo dispositivo solo ciò di cui la pagina stessa ha bisogno e non usano cookie.',
      choice: 'La tua scelta',
      choiceSignal:
        'Se il tuo browser invia il segnale «Global Privacy Control», vedi le offerte senza essere riconosciuto e ' +
        'per te non viene conservato alcun numero.',
      choicePerks: 'I vantaggi che scegli vengono comunicati solo a {publisher}.',
      choiceEmail:
        'Ogni e-mail contiene un link per annullare l’iscrizione. L’annullamento viene conservato con un numero al ' +
        'posto del tuo indirizzo.',
      ask: 'Come fare richiesta',
      askText:
        'Per vedere i dati che ti riguardano o farli cancellare, rivolgiti a {publisher}. La cancellazione avviene ' +
        'entro un minuto dalla richiesta di {publisher}.',
      notFound: {
        title: 'Pagina non trovata',
        text: 'Il link a questa pagina è errato o non è aggiornato. Chiedi al sito che ti ha mostrato le offerte.',
      },
    },
    errors: {
      offerGone: {
        title: 'Questa offerta non c’è più',
        text: 'Il link è incompleto o scaduto. Cerca l’offerta dove l’hai trovata.',
      },
      tooMany: { title: 'Troppi tentativi', text: 'Attendi un momento, poi ricarica la pagina.' },
      unavailable: { title: 'Al momento non disponibile', text: 'Attendi un momento, poi ricarica la pagina.' },
      failed: { title: 'Qualcosa non ha funzionato', text: 'Torna indietro e riprova.' },
    },
  },
};
