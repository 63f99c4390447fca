import type { EndUserMessages } from './en.ts';

export const ko: EndUserMessages = {
  endUser: {
    unit: {
      labels: {
        offers: '혜택',
        close: '닫기',
        done: '완료',
        back: '이전 혜택',
        terms: '이용 약관',
        progress: '혜택 {current}/{total}',
        saved: '혜택을 저장했습니다',
        newTab: '(새 탭에서 열림)',
      },
      settings: {
        usp_cta_text: '이 혜택 선택',
        perkswallet_cta: '나중에 보기',
        saved_offer_text: '저장됨',
        offerwall_cta: '더 많은 혜택',
      },
      styles: { header: { text: '감사합니다! 혜택을 선택하세요.' }, footer: { privacy: '개인정보 보호' } },
      offer: { cta_yes: '네, 좋아요', cta_no: '아니요, 괜찮아요' },
    },
    offerwall: {
      title: '더 많은 혜택',
      loading: '혜택을 불러오는 중…',
      needsScript: '이 페이지를 보려면 JavaScript가 필요합니다.',
      search: '혜택 검색',
      categories: '카테고리',
      all: '전체',
      featured: '추천 혜택',
      showMore: '더 보기',
      end: '모든 혜택을 확인했습니다.',
      noMatch: '일치하는 혜택이 없습니다.',
      retry: '다시 시도',
      badLink: '이 링크는 더 이상 사용할 수 없습니다.',
      failed: '혜택을 불러오지 못했습니다.',
      details: '자세히',
      notEnabled: { title: '이용할 수 없음', text: '여기에는 혜택 페이지가 없습니다.' },
      invalidLink: {
        title: '링크가 작동하지 않습니다',
        text: '링크가 완전하지 않거나 만료되었습니다. 링크를 찾은 곳에서 다시 열어 주세요.',
      },
    },
    message: {
      title: '{count, plural, other {선택하신 혜택 {count}개}}',
      why: '{publisher}에서 요청하셨기 때문에 이 메일을 보내 드립니다.',
      unsubscribe: '수신 거부',
      use: '사용하기',
      goneTitle: '수신 거부 완료',
      gone: '앞으로 이 메일을 받지 않습니다.',
      question: '이 메일을 더 이상 받지 않으시겠습니까?',
      reminder: '저장한 혜택이 곧 종료됩니다',
      confirmTitle: '이메일 주소 확인',
      confirmText:
        '이 주소를 확인하시면 {publisher}에서 혜택을 이메일로 보내 드립니다. 요청하지 않으셨다면 아무것도 하지 않으셔도 됩니다.',
      confirm: '확인',
      confirmed: '확인되었습니다. 혜택을 곧 보내 드립니다.',
    },
    coupon: { code: '쿠폰 코드', until: '{date}까지 사용 가능' },
    wallet: {
      title: '저장한 혜택',
      count: '{count, plural, other {저장한 혜택 {count}개}}',
      empty: '아직 저장한 혜택이 없습니다',
      emptyText: '나중에 보려고 저장한 혜택이 여기에 표시됩니다.',
      question: '이 혜택을 저장해 두시겠습니까?',
      save: '저장',
      savedOn: '{date}에 저장함',
      expired: '더 이상 제공되지 않음',
      open: '열기',
      remove: '삭제',
      notEnabled: { title: '이용할 수 없음', text: '여기에서는 혜택을 저장할 수 없습니다.' },
      invalidLink: {
        title: '링크가 작동하지 않습니다',
        text: '링크가 완전하지 않거나 만료되었습니다. 저장한 혜택을 다시 열어 주세요.',
      },
    },
    privacy: {
      title: '혜택과 개인정보 보호',
      intro:
        '{publisher}에서는 제휴사의 혜택을 보여 드립니다. 이 페이지에서는 이를 위해 어떤 데이터가 얼마 동안 ' +
        '보관되는지, 어떻게 요청할 수 있는지 안내합니다.',
      stored: '보관하는 정보',
      data: '데이터',
      purpose: '목적',
      kept: '보관 기간',
      days: '{count}일',
      activity:
        '고객님께 표시되었거나 고객님이 열고, 저장하고, 거절한 혜택과 그 시각, 기기 종류, 네트워크 주소로 확인한 ' +
        '국가, 지역 및 도시',
      activityPurpose: '집계 및 제휴사 정산',
      identity: '이름 대신 사용하는 번호와 {publisher}에서 고객님을 구분하는 ID',
      identityPurpose: '혜택 노출 횟수 제한, ‘괜찮아요’ 선택 존중, 선택한 혜택을 {publisher}에 전달',
      identityKept: '{count}일. ‘괜찮아요’ 선택은 유효한 동안',
      attributes: '주문 번호 등 {publisher}에서 추가하는 데이터',
      attributesPurpose: '고객님의 구매 내역과 함께 {publisher}에 되돌려 주기 위함',
      saved: '고객님이 저장한 혜택',
      savedPurpose: '다시 보여 드리기 위함',
      savedKept: '고객님이 삭제할 때까지',
      messages: '고객님의 선택에 관해 {publisher}에 보내는 메시지',
      messagesPurpose: '전달',
      notStored: '보관하지 않는 정보',
      notStoredText:
        '네트워크 주소는 접속 국가를 확인하는 데 사용한 뒤 폐기합니다. 이메일 주소나 전화번호는 묻지 않습니다. ' +
        '혜택은 페이지 자체에 필요한 정보만 기기에 저장하며 쿠키를 설정하지 않습니다.',
      choice: '고객님의 선택',
      choiceSignal:
        '브라우저가 ‘Global Privacy Control’ 신호를 보내면 고객님을 식별하지 않고 혜택을 표시하며 번호도 보관하지 ' +
        '않습니다.',
      choicePerks: '선택한 혜택은 {publisher}에만 전달됩니다.',
      ask: '요청 방법',
      askText:
        '보관된 데이터를 확인하거나 삭제하려면 {publisher}에 문의하세요. 삭제는 {publisher}의 요청 후 1분 이내에 ' +
        '완료됩니다.',
      notFound: {
        title: '페이지를 찾을 수 없음',
        text: '이 페이지의 링크가 잘못되었거나 오래되었습니다. 혜택을 보여 준 사이트에 문의하세요.',
      },
    },
    errors: {
      offerGone: {
        title: '더 이상 없는 혜택입니다',
        text: '링크가 완전하지 않거나 만료되었습니다. 혜택을 찾은 곳에서 확인해 주세요.',
      },
      tooMany: { title: '시도 횟수가 너무 많습니다', text: '잠시 기다린 후 페이지를 새로 고치세요.' },
      unavailable: { title: '지금은 이용할 수 없습니다', text: '잠시 기다린 후 페이지를 새로 고치세요.' },
      failed: { title: '처리하지 못했습니다', text: '이전 페이지로 돌아가 다시 시도하세요.' },
    },
  },
};
