import { describe, expect, it } from 'vitest';
import { finishQuestion, simulatedText, whoText } from './people';

const nobody = { annotators: 0, answers: 0 };

describe('the question before the end', () => {
  it('says what is lost and who is at work', () => {
    const question = finishQuestion({ leases: 2, answers: 40, budget: 1240 });
    expect(question).toContain('1,200 of 1,240 answers will not be collected.');
    expect(question).toContain('2 grids are being worked on');
    expect(finishQuestion({ leases: 0, answers: 1, budget: 2 })).not.toContain('worked on');
  });
});

describe('who answers', () => {
  it('is told while the campaign runs', () => {
    const who = { state: 'running', annotators: 12, leases: 3, simulated: nobody };
    expect(whoText(who)).toBe('3 at work now');
  });

  it('is nobody after the end, whatever was not finished', () => {
    const who = { state: 'finished', annotators: 12, leases: 12, simulated: nobody };
    expect(whoText(who)).toBe('the campaign has ended');
  });

  it('is marked where it is simulated', () => {
    const simulated = { annotators: 8, answers: 240 };
    const who = { state: 'running', leases: 0, simulated };
    expect(whoText({ ...who, annotators: 8 })).toBe('all simulated · 0 at work now');
    expect(whoText({ ...who, annotators: 9 })).toBe('8 simulated · 0 at work now');
    expect(simulatedText(simulated)).toMatch(/^8 simulated annotators answered 240 grids\./);
    expect(simulatedText({ annotators: 1, answers: 1 })).toMatch(
      /^1 simulated annotator answered 1 grid\./,
    );
    expect(simulatedText(nobody)).toBe('');
  });
});
