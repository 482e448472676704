/** Short names of the API's types; `npm run types` makes the schema from the server's code. */
import type { components } from './schema';

type Schemas = components['schemas'];

export type Session = Schemas['SessionOut'];
export type CampaignForAnnotators = Schemas['CampaignForAnnotators'];
export type Handout = Schemas['HandoutOut'];
export type Lease = Schemas['LeaseOut'];
export type LeasedImage = Schemas['LeasedImage'];
export type Draft = Schemas['DraftOut'];
export type DraftIn = Schemas['DraftIn'];
export type DraftSaved = Schemas['DraftSaved'];
export type AnswerIn = Schemas['AnswerIn'];
export type AnswerOut = Schemas['AnswerOut'];
export type StageState = Schemas['StageOut'];
export type Step = Schemas['StepIn']['step'];
export type Practice = Schemas['PracticeOut'];
export type PracticeFeedback = Schemas['PracticeFeedback'];
export type RemarkIn = Schemas['RemarkIn'];
export type AnnotatorScore = Schemas['AnnotatorScore'];
export type Evidence = Schemas['EvidenceOut'];
export type Remark = Schemas['RemarkOut'];
export type Replay = Schemas['ReplayOut'];

export type Collection = Schemas['CollectionOut'];
export type Upload = Schemas['UploadOut'];
export type AddedFile = Schemas['AddedFile'];
export type DuplicateFile = Schemas['DuplicateFile'];
export type RejectedFile = Schemas['RejectedFile'];
export type ImagePage = Schemas['ImagePage'];
export type Image = Schemas['ImageOut'];

export type Campaign = Schemas['CampaignOut'];
export type Progress = Schemas['ProgressOut'];
export type Round = Schemas['RoundOut'];
export type Job = Schemas['JobOut'];
export type Model = Schemas['ModelOut'];
export type ModelMap = Schemas['MapOut'];
export type MapPoint = Schemas['MapPoint'];
export type Neighbours = Schemas['NeighboursOut'];
export type Neighbour = Schemas['NeighbourOut'];
export type Insight = Schemas['InsightOut'];
export type Attribute = Schemas['AttributeOut'];
export type Example = Schemas['ExampleOut'];
