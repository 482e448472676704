/** Two platforms as the server describes them, for tests. */
export const PLATFORMS = [
  {
    channel: 'prolific',
    title: 'Prolific',
    posting: 'study',
    posting_note: '',
    one_posting: '1 study',
    many_postings: '{n} studies',
    compensates: false,
  },
  {
    channel: 'mturk',
    title: 'Mechanical Turk',
    posting: 'task',
    posting_note: 'A HIT is a task.',
    one_posting: '1 task (HIT)',
    many_postings: '{n} tasks (HITs)',
    compensates: true,
  },
];
