/**
 * The annotators' page to be tried by a requester: this script plays the server, with a few grids
 * that came with the page. Nothing is sent or stored. On platforms, people who have not taken a
 * task on look at one grid instead.
 */
import type {
  CampaignForAnnotators,
  Handout,
  LeasedImage,
  Questions,
  StageState,
} from './api/types';

interface Preview {
  readonly campaign: CampaignForAnnotators;
  readonly stages: readonly string[];
  /** By their place. */
  readonly questions: Readonly<Record<string, Questions>>;
  readonly grids: readonly LeasedImage[][];
  readonly target: number;
  /** To be looked at alone. */
  readonly locked?: boolean;
}

const ROOT = '/api/v1/annotate';
const LEASE_MS = 3_600_000;
const given = JSON.parse(document.getElementById('preview')?.textContent ?? '{}') as Preview;
const visit = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
let passed = 0;
let answered = 0;
let isAsked = false;
let version = 0;

function stage(): StageState {
  return {
    stage: (given.stages[passed] ?? 'work') as StageState['stage'],
    practice: { done: 0, total: 0 },
    screened_out_by_answers: false,
  };
}

function handout(): Handout {
  const isAtEnd = answered >= given.target;
  const isOpen = !isAsked && (given.questions['after']?.questions.length ?? 0) > 0;
  const status = isAtEnd ? (isOpen ? 'questions' : 'done') : 'leased';
  const turn = answered % given.grids.length;
  return {
    status,
    answered,
    target: given.target,
    retry_after_seconds: null,
    completion_code: status === 'done' ? 'PREV-IEW0' : null,
    earned_cents: status === 'done' ? given.campaign.reward_cents : null,
    lease: isAtEnd
      ? null
      : {
          id: `preview-${visit}-${answered}`,
          grid_id: `preview-${turn}`,
          images: given.grids[turn] ?? [],
          expires_at: new Date(Date.now() + LEASE_MS).toISOString(),
          first_colour: turn,
          draft: null,
          draft_version: 0,
        },
  };
}

function session() {
  return {
    ...stage(),
    token: 'preview',
    channel: 'link',
    campaign: given.campaign,
    answered,
    target: given.target,
    seconds_spent: 0,
    next: stage().stage === 'work' ? handout() : null,
  };
}

function questions(method: string, place: string): Response {
  if (method === 'GET') return Response.json(given.questions[place]);
  // Nobody is screened out while trying the page.
  if (place === 'before') passed += 1;
  else isAsked = true;
  return Response.json(stage());
}

function reply(method: string, path: string): Response {
  if (path === '/sessions') return Response.json(session(), { status: 201 });
  if (path === '/steps') {
    passed += 1;
    return Response.json(stage());
  }
  if (path.startsWith('/questions/')) return questions(method, path.slice('/questions/'.length));
  if (path === '/leases') return Response.json(handout());
  if (path.endsWith('/draft')) {
    version += 1;
    const expires_at = new Date(Date.now() + LEASE_MS).toISOString();
    return Response.json({ version, expires_at });
  }
  if (path.endsWith('/answer')) {
    answered += 1;
    return Response.json({ status: 'stored', answered, target: given.target, seconds_spent: 0 });
  }
  if (path.endsWith('/return') || path === '/remarks') return new Response(null, { status: 204 });
  // Bundles of images and grids ahead: the page does without them.
  return Response.json({ code: 'preview', detail: `${method} ${path}` }, { status: 404 });
}

const ask = window.fetch.bind(window);
window.fetch = async (input, options) => {
  const path =
    typeof input === 'string' ? input : input instanceof URL ? input.pathname : input.url;
  if (!path.startsWith(ROOT)) return ask(input, options);
  return reply(options?.method ?? 'GET', path.slice(ROOT.length));
};

async function show(): Promise<void> {
  if (!given.locked) {
    await import('./annotator');
    return;
  }
  const { showLook } = await import('./annotator/look');
  showLook({ campaign: given.campaign, images: given.grids[0] ?? [], target: given.target });
}

void show();
