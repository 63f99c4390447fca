import type { EndUserMessages } from './en.ts';

export const fr: EndUserMessages = {
  endUser: {
    unit: {
      labels: {
        offers: 'Offres',
        close: 'Fermer',
        done: 'Terminé',
        back: 'Offre précédente',
        terms: 'Conditions générales',
        progress: 'Offre {current} sur {total}',
        saved: 'Offre enregistrée',
        newTab: '(s’ouvre dans un nouvel onglet)',
      },
      settings: {
        usp_cta_text: 'Choisir cet avantage',
        perkswallet_cta: 'Garder pour plus tard',
        saved_offer_text: 'Enregistrée',
        offerwall_cta: 'Plus d’offres',
      },
      styles: { header: { text: 'Merci ! Choisissez un avantage.' }, footer: { privacy: 'Confidentialité' } },
      offer: { cta_yes: 'Oui, volontiers', cta_no: 'Non, merci' },
    },
    offerwall: {
      title: 'Plus d’offres',
      loading: 'Chargement des offres…',
      needsScript: 'Cette page nécessite JavaScript.',
      search: 'Rechercher des offres',
      categories: 'Catégories',
      all: 'Toutes',
      featured: 'Offres à la une',
      showMore: 'Afficher plus',
      end: 'Vous avez vu toutes les offres.',
      noMatch: 'Aucune offre ne correspond.',
      retry: 'Réessayer',
      badLink: 'Ce lien n’est plus valable.',
      failed: 'Les offres n’ont pas pu être chargées.',
      details: 'Détails',
      notEnabled: { title: 'Indisponible', text: 'Il n’y a pas de page d’offres ici.' },
      invalidLink: {
        title: 'Ce lien ne fonctionne pas',
        text: 'Il est incomplet ou a expiré. Ouvrez-le de nouveau à partir de l’endroit où vous l’avez trouvé.',
      },
    },
    message: {
      title: '{count, plural, =1 {Votre avantage} other {Vos {count} avantages}}',
      why: 'Vous recevez cet e-mail parce que vous l’avez demandé chez {publisher}.',
      unsubscribe: 'Se désabonner',
      use: 'Utiliser',
      goneTitle: 'Plus d’e-mails',
      gone: 'Vous ne recevrez plus ces e-mails.',
      question: 'Ne plus recevoir ces e-mails ?',
      reminder: 'Une offre enregistrée se termine bientôt',
      confirmTitle: 'Confirmez votre adresse',
      confirmText:
        '{publisher} vous enverra vos avantages par e-mail dès que vous aurez confirmé cette adresse. Si ' +
        'vous ne les avez pas demandés, ne faites rien.',
      confirm: 'Confirmer',
      confirmed: 'Adresse confirmée. Vos avantages arrivent.',
    },
    coupon: { code: 'Votre code', until: 'Valable jusqu’au {date}' },
    wallet: {
      title: 'Offres enregistrées',
      count: '{count, plural, =1 {1 offre enregistrée} other {{count} offres enregistrées}}',
      empty: 'Aucune offre enregistrée',
      emptyText: 'Les offres que vous gardez pour plus tard s’affichent ici.',
      question: 'Garder cette offre pour plus tard ?',
      save: 'Enregistrer',
      savedOn: 'Enregistrée le {date}',
      expired: 'N’est plus disponible',
      open: 'Ouvrir',
      remove: 'Supprimer',
      notEnabled: { title: 'Indisponible', text: 'Il n’est pas possible d’enregistrer des offres ici.' },
      invalidLink: {
        title: 'Ce lien ne fonctionne pas',
        text: 'Il est incomplet ou a expiré. Ouvrez de nouveau vos offres enregistrées.',
      },
    },
    privacy: {
      title: 'Les offres et votre vie privée',
      intro:
        '{publisher} vous présente des offres de ses partenaires. Cette page indique quelles données sont conservées ' +
        'à cette fin, pendant combien de temps, et comment les demander.',
      stored: 'Ce qui est conservé',
      data: 'Données',
      purpose: 'Finalité',
      kept: 'Durée',
      days: '{count} jours',
      activity:
        'Les offres qui vous ont été présentées, que vous avez ouvertes, enregistrées ou refusées, et ce que vous ' +
        'avez acheté grâce à elles, quand, dans quelle langue et sur quel type d’appareil, avec le pays, la région ' +
        'et la ville de votre adresse réseau',
      activityPurpose: 'Comptage et rémunération par les partenaires',
      identity: 'Un numéro à la place de votre nom, et l’identifiant sous lequel {publisher} vous connaît',
      identityPurpose:
        'Limiter le nombre de fois où vous voyez une offre, respecter un « non, merci » et transmettre vos avantages ' +
        'à {publisher}',
      identityKept:
        'L’identifiant : {count} jours ; le numéro, avec le nombre de fois où vous avez vu une offre et votre « non, ' +
        'merci » : jusqu’à son effacement',
      attributes: 'Les données que {publisher} ajoute, par exemple un numéro de commande',
      attributesPurpose:
        'Choisir des offres pour vous et les renvoyer à {publisher} avec un achat que vous avez effectué',
      attributesKept:
        '{count} jours ; celles qui servent aussi à de prochaines visites, jusqu’à leur expiration ou leur effacement',
      saved: 'Les offres que vous avez enregistrées et les codes que vous avez reçus',
      savedPurpose: 'Vous les présenter de nouveau',
      savedKept:
        'Les offres, jusqu’à ce que vous les supprimiez ; les codes, jusqu’à {count} jours après leur fin, ou ' +
        '{longest} jours s’ils n’en ont pas',
      email: 'Votre adresse e-mail, chiffrée, si vous avez demandé des avantages ou un rappel par e-mail',
      emailPurpose: 'Vous envoyer ce que vous avez demandé',
      emailKept:
        'Jusqu’à l’envoi de l’e-mail ; {count} jours de plus au maximum si l’envoi échoue ou si vous ne confirmez ' +
        'pas l’adresse',
      messages: 'Les messages sur vos choix adressés à {publisher}',
      messagesPurpose: 'Transmission',
      notStored: 'Ce qui n’est pas conservé',
      notStoredAddress:
        'Votre adresse réseau : elle sert à déterminer le pays, la région et la ville où vous êtes, puis elle est ' +
        'effacée.',
      notStoredAsked: 'Ni adresse e-mail ni numéro de téléphone ne vous sont demandés.',
      notStoredDevice:
        'Les offres ne stockent sur votre appareil que ce dont la page a elle-même besoin et ne déposent aucun ' +
        'cookie.',
      choice: 'Votre choix',
      choiceSignal:
        'Si votre navigateur envoie le signal « Global Privacy Control », les offres vous sont présentées sans que ' +
        'vous soyez reconnu, et aucun numéro n’est conservé pour vous.',
      choicePerks: 'Les avantages que vous choisissez ne sont transmis qu’à {publisher}.',
      choiceEmail:
        'Chaque e-mail contient un lien de désinscription. Votre désinscription est conservée avec un numéro à la ' +
        'place de votre adresse.',
      ask: 'Comment faire une demande',
      askText:
        'Pour consulter les données conservées à votre sujet ou les faire effacer, adressez-vous à {publisher}. ' +
        'L’effacement a lieu dans la minute qui suit la demande de {publisher}.',
      notFound: {
        title: 'Page introuvable',
        text: 'Le lien vers cette page est erroné ou périmé. Adressez-vous au site qui vous a présenté les offres.',
      },
    },
    errors: {
      offerGone: {
        title: 'Cette offre n’existe plus',
        text: 'Le lien est incomplet ou a expiré. Cherchez l’offre là où vous l’avez trouvée.',
      },
      tooMany: { title: 'Trop de tentatives', text: 'Patientez un instant, puis rechargez la page.' },
      unavailable: { title: 'Indisponible pour le moment', text: 'Patientez un instant, puis rechargez la page.' },
      failed: { title: 'Cela n’a pas fonctionné', text: 'Revenez en arrière et réessayez.' },
    },
  },
};
