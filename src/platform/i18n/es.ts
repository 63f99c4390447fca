import type { EndUserMessages } from './en.ts';

export const es: EndUserMessages = {
  endUser: {
    unit: {
      labels: {
        offers: 'Ofertas',
        close: 'Cerrar',
        done: 'Listo',
        back: 'Oferta anterior',
        terms: 'Términos y condiciones',
        progress: 'Oferta {current} de {total}',
        saved: 'Oferta guardada',
        newTab: '(se abre en una pestaña nueva)',
      },
      settings: {
        usp_cta_text: 'Elegir esta ventaja',
        perkswallet_cta: 'Guardar para después',
        saved_offer_text: 'Guardada',
        offerwall_cta: 'Más ofertas',
      },
      styles: { header: { text: '¡Gracias! Elige una ventaja.' }, footer: { privacy: 'Privacidad' } },
      offer: { cta_yes: 'Sí, gracias', cta_no: 'No, gracias' },
    },
    offerwall: {
      title: 'Más ofertas',
      loading: 'Cargando ofertas…',
      needsScript: 'Esta página necesita JavaScript.',
      search: 'Buscar ofertas',
      categories: 'Categorías',
      all: 'Todas',
      featured: 'Ofertas destacadas',
      showMore: 'Mostrar más',
      end: 'Has visto todas las ofertas.',
      noMatch: 'Ninguna oferta coincide.',
      retry: 'Reintentar',
      badLink: 'Este enlace ya no funciona.',
      failed: 'No se han podido cargar las ofertas.',
      details: 'Detalles',
      notEnabled: { title: 'No disponible', text: 'Aquí no hay una página de ofertas.' },
      invalidLink: {
        title: 'Este enlace no funciona',
        text: 'Está incompleto o ha caducado. Ábrelo de nuevo desde donde lo encontraste.',
      },
    },
    message: {
      title: '{count, plural, =1 {Tu ventaja} other {Tus {count} ventajas}}',
      why: 'Recibes este correo porque lo pediste en {publisher}.',
      unsubscribe: 'Darse de baja',
      use: 'Usar',
      goneTitle: 'No más correos',
      gone: 'Ya no recibirás estos correos.',
      question: '¿No quieres recibir más estos correos?',
      reminder: 'Una oferta guardada termina pronto',
      confirmTitle: 'Confirma tu dirección',
      confirmText:
        '{publisher} te enviará tus ventajas por correo cuando confirmes esta dirección. Si no las pediste, ' +
        'no hagas nada.',
      confirm: 'Confirmar',
      confirmed: 'Confirmado. Tus ventajas están en camino.',
    },
    coupon: { code: 'Tu código', until: 'Válido hasta el {date}' },
    wallet: {
      title: 'Ofertas guardadas',
      count: '{count, plural, =1 {1 oferta guardada} other {{count} ofertas guardadas}}',
      empty: 'Aún no has guardado nada',
      emptyText: 'Aquí aparecen las ofertas que guardas para después.',
      question: '¿Guardar esta oferta para después?',
      save: 'Guardar',
      savedOn: 'Guardada el {date}',
      expired: 'Ya no está disponible',
      open: 'Abrir',
      remove: 'Eliminar',
      notEnabled: { title: 'No disponible', text: 'Aquí no se pueden guardar ofertas.' },
      invalidLink: {
        title: 'Este enlace no funciona',
        text: 'Está incompleto o ha caducado. Abre de nuevo tus ofertas guardadas.',
      },
    },
    privacy: {
      title: 'Las ofertas y tu privacidad',
      intro:
        '{publisher} te muestra ofertas de sus socios. Esta página explica qué datos se guardan para ello, durante ' +
        'cuánto tiempo y cómo solicitarlos.',
      stored: 'Qué se guarda',
      data: 'Datos',
      purpose: 'Finalidad',
      kept: 'Plazo',
      days: '{count} días',
      activity:
        'Qué ofertas se te han mostrado, cuáles has abierto, guardado o rechazado y qué has comprado a través de ' +
        'ellas, cuándo, en qué idioma y en qué tipo de dispositivo, con el país, la región y la ciudad de tu ' +
        'dirección de red',
      activityPurpose: 'Recuento y pago de los socios',
      identity: 'Un número en lugar de tu nombre y el identificador con el que {publisher} te conoce',
      identityPurpose:
        'Limitar cuántas veces ves una oferta, respetar un «no, gracias» y comunicar tus ventajas a {publisher}',
      identityKept:
        'El identificador, {count} días; el número, con las veces que has visto una oferta y tu «no, gracias», hasta ' +
        'que se borre',
      attributes: 'Datos que añade {publisher}, como un número de pedido',
      attributesPurpose: 'Elegir ofertas para ti y devolverlos a {publisher} junto con una compra que hayas hecho',
      attributesKept: '{count} días; los que sirven también para visitas posteriores, hasta que caduquen o se borren',
      saved: 'Ofertas que has guardado y códigos que has recibido',
      savedPurpose: 'Mostrártelas de nuevo',
      savedKept:
        'Las ofertas, hasta que las elimines; los códigos, hasta {count} días después de caducar y, si no caducan, ' +
        '{longest} días',
      email: 'Tu dirección de correo electrónico, cifrada, si has pedido ventajas o un recordatorio por correo',
      emailPurpose: 'Enviarte lo que has pedido',
      emailKept:
        'Hasta que se envíe el correo; como máximo {count} días más si el envío falla o no confirmas la dirección',
      messages: 'Mensajes a {publisher} sobre lo que has elegido',
      messagesPurpose: 'Entrega',
      notStored: 'Qué no se guarda',
      notStoredAddress:
        'Tu dirección de red: se usa para saber en qué país, región y ciudad estás y después se descarta.',
      notStoredAsked: 'No se te pide ninguna dirección de correo electrónico ni número de teléfono.',
      notStoredDevice:
        'Las ofertas no guardan en tu dispositivo más que lo que la propia página necesita y no usan cookies.',
      choice: 'Tú decides',
      choiceSignal:
        'Si tu navegador envía la señal «Global Privacy Control», se te muestran ofertas sin reconocerte y no se ' +
        'guarda ningún número para ti.',
      choicePerks: 'Las ventajas que eliges se comunican únicamente a {publisher}.',
      choiceEmail:
        'Cada correo lleva un enlace para darte de baja. Tu baja se guarda con un número en lugar de tu dirección.',
      ask: 'Cómo solicitarlo',
      askText:
        'Para consultar los datos que se guardan sobre ti, o para que se borren, dirígete a {publisher}. El borrado ' +
        'se completa en un minuto desde que {publisher} lo solicita.',
      notFound: {
        title: 'Página no encontrada',
        text: 'El enlace a esta página es erróneo o está desfasado. Pregunta al sitio que te mostró las ofertas.',
      },
    },
    errors: {
      offerGone: {
        title: 'Esta oferta ya no existe',
        text: 'El enlace está incompleto o ha caducado. Busca la oferta donde la encontraste.',
      },
      tooMany: { title: 'Demasiados intentos', text: 'Espera un momento y vuelve a cargar la página.' },
      unavailable: { title: 'No disponible ahora', text: 'Espera un momento y vuelve a cargar la página.' },
      failed: { title: 'No ha funcionado', text: 'Vuelve atrás e inténtalo de nuevo.' },
    },
  },
};
