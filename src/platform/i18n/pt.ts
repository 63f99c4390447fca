import type { EndUserMessages } from './en.ts';

export const pt: EndUserMessages = {
  endUser: {
    unit: {
      labels: {
        offers: 'Ofertas',
        close: 'Fechar',
        done: 'Concluir',
        back: 'Oferta anterior',
        terms: 'Termos e condições',
        progress: 'Oferta {current} de {total}',
        saved: 'Oferta guardada',
        newTab: '(abre numa nova janela)',
      },
      settings: {
        usp_cta_text: 'Escolher esta vantagem',
        perkswallet_cta: 'Guardar para depois',
        saved_offer_text: 'Guardada',
        offerwall_cta: 'Mais ofertas',
      },
      styles: { header: { text: 'Obrigado! Escolha uma vantagem.' }, footer: { privacy: 'Privacidade' } },
      offer: { cta_yes: 'Sim, quero', cta_no: 'Não, obrigado' },
    },
    offerwall: {
      title: 'Mais ofertas',
      loading: 'A carregar ofertas…',
      needsScript: 'Esta página precisa de JavaScript.',
      search: 'Pesquisar ofertas',
      categories: 'Categorias',
      all: 'Todas',
      featured: 'Ofertas em destaque',
      showMore: 'Mostrar mais',
      end: 'Viu todas as ofertas.',
      noMatch: 'Nenhuma oferta corresponde.',
      retry: 'Tentar de novo',
      badLink: 'Este link já não funciona.',
      failed: 'Não foi possível carregar as ofertas.',
      details: 'Detalhes',
      notEnabled: { title: 'Indisponível', text: 'Não há uma página de ofertas aqui.' },
      invalidLink: {
        title: 'Este link não funciona',
        text: 'Está incompleto ou expirou. Abra-o de novo a partir de onde o encontrou.',
      },
    },
    message: {
      title: '{count, plural, =1 {Sua vantagem} other {Suas {count} vantagens}}',
      why: 'Você recebe este e-mail porque o pediu em {publisher}.',
      unsubscribe: 'Cancelar inscrição',
      use: 'Usar',
      goneTitle: 'Sem mais e-mails',
      gone: 'Você não receberá mais estes e-mails.',
      question: 'Não quer mais receber estes e-mails?',
      reminder: 'Uma oferta guardada termina em breve',
      confirmTitle: 'Confirme o seu endereço',
      confirmText:
        '{publisher} enviará as suas vantagens por e-mail depois que este endereço for confirmado. Se não as ' +
        'pediu, não faça nada.',
      confirm: 'Confirmar',
      confirmed: 'Confirmado. As suas vantagens estão a caminho.',
    },
    coupon: { code: 'Seu código', until: 'Válido até {date}' },
    wallet: {
      title: 'Ofertas guardadas',
      count: '{count, plural, =1 {1 oferta guardada} other {{count} ofertas guardadas}}',
      empty: 'Ainda não guardou nada',
      emptyText: 'As ofertas que guarda para depois aparecem aqui.',
      question: 'Guardar esta oferta para depois?',
      save: 'Guardar',
      savedOn: 'Guardada a {date}',
      expired: 'Já não está disponível',
      open: 'Abrir',
      remove: 'Remover',
      notEnabled: { title: 'Indisponível', text: 'Não é possível guardar ofertas aqui.' },
      invalidLink: {
        title: 'Este link não funciona',
        text: 'Está incompleto ou expirou. Abra de novo as suas ofertas guardadas.',
      },
    },
    privacy: {
      title: 'As ofertas e a sua privacidade',
      intro:
        '{publisher} mostra-lhe ofertas dos seus parceiros. Esta página explica que dados são guardados para isso, ' +
        'por quanto tempo e como os pode pedir.',
      stored: 'O que é guardado',
      data: 'Dados',
      purpose: 'Finalidade',
      kept: 'Prazo',
      days: '{count} dias',
      activity:
        'Que ofertas lhe foram mostradas, quais abriu, guardou ou recusou e o que comprou através delas, quando, em ' +
        'que língua e em que tipo de dispositivo, com o país, a região e a cidade do seu endereço de rede',
      activityPurpose: 'Contagem e pagamento pelos parceiros',
      identity: 'Um número em vez do seu nome e o identificador pelo qual {publisher} o conhece',
      identityPurpose:
        'Limitar quantas vezes vê uma oferta, respeitar um “não, obrigado” e transmitir as suas vantagens a ' +
        '{publisher}',
      identityKept:
        'O identificador, {count} dias; o número, com as vezes que viu uma oferta e o seu “não, obrigado”, até ser ' +
        'apagado',
      attributes: 'Dados que {publisher} acrescenta, como um número de encomenda',
      attributesPurpose: 'Escolher ofertas para si e devolvê-los a {publisher} com uma compra que tenha feito',
      attributesKept: '{count} dias; os que servem também para visitas posteriores, até expirarem ou serem apagados',
      saved: 'Ofertas que guardou e códigos que recebeu',
      savedPurpose: 'Mostrar-lhas de novo',
      savedKept:
        'As ofertas, até as remover; os códigos, até {count} dias depois de terminarem e, se não terminarem, ' +
        '{longest} dias',
      email: 'O seu endereço de e-mail, cifrado, se pediu vantagens ou um lembrete por e-mail',
      emailPurpose: 'Enviar-lhe o que pediu',
      emailKept: 'Até o e-mail ser enviado; no máximo mais {count} dias se o envio falhar ou não confirmar o endereço',
      messages: 'Mensagens a {publisher} sobre as suas escolhas',
      messagesPurpose: 'Entrega',
      notStored: 'O que não é guardado',
      notStoredAddress:
        'O seu endereço de rede: serve para saber em que país, região e cidade está e depois é descartado.',
      notStoredAsked: 'Não lhe é pedido nenhum endereço de e-mail nem número de telefone.',
      notStoredDevice:
        'As ofertas só guardam no seu dispositivo aquilo de que a própria página precisa e não usam cookies.',
      choice: 'A sua escolha',
      choiceSignal:
        'Se o seu navegador enviar o sinal “Global Privacy Control”, são-lhe mostradas ofertas sem que seja ' +
        'reconhecido, e não é guardado nenhum número para si.',
      choicePerks: 'As vantagens que escolhe são transmitidas apenas a {publisher}.',
      choiceEmail:
        'Cada e-mail tem um link para cancelar a subscrição. O cancelamento é guardado com um número em vez do seu ' +
        'endereço.',
      ask: 'Como pedir',
      askText:
        'Para ver os dados guardados sobre si, ou para que sejam apagados, contacte {publisher}. O apagamento é ' +
        'feito no espaço de um minuto após o pedido de {publisher}.',
      notFound: {
        title: 'Página não encontrada',
        text: 'O link para esta página está errado ou desatualizado. Contacte o site que lhe mostrou as ofertas.',
      },
    },
    errors: {
      offerGone: {
        title: 'Esta oferta já não existe',
        text: 'O link está incompleto ou expirou. Procure a oferta onde a encontrou.',
      },
      tooMany: { title: 'Demasiadas tentativas', text: 'Aguarde um momento e volte a carregar a página.' },
      unavailable: { title: 'Indisponível de momento', text: 'Aguarde um momento e volte a carregar a página.' },
      failed: { title: 'Não funcionou', text: 'Volte atrás e tente de novo.' },
    },
  },
};
