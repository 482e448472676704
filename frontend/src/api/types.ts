/** Short names of the API's types; `npm run types` makes the schema from the server's code. */
import type { components, operations } from './schema';

type Schemas = components['schemas'];

/** Part of a list; `next` is null on the last. */
export interface Page<Item> {
  items: Item[];
  next: string | null;
}

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
export type Questions = Schemas['QuestionsOut'];
/** As a requester sees it, with the rules that screen people out. */
export type Question = NonNullable<Schemas['AnnotationSettings']['questions_before']>[number];
/** The requester's texts in one language. */
export type Translation = Schemas['Translation'];
export type AnsweredQuestion = Schemas['AnsweredQuestionOut'];
export type Differences = Schemas['AnswerDifferencesOut'];
export type AskedQuestion = Questions['questions'][number];
export type ReplyIn = Schemas['ReplyIn'];
export type PracticeFeedback = Schemas['PracticeFeedback'];
export type RemarkIn = Schemas['RemarkIn'];
export type AnnotatorScore = Schemas['AnnotatorScore'];
export type AskAgain = Schemas['AskAgainOut'];
export type Evidence = Schemas['EvidenceOut'];
export type Remark = Schemas['RemarkOut'];
export type AnswerRecord = Schemas['AnswerRecord'];
export type AnswerAttribute = Schemas['AnswerAttributeOut'];
export type KnownColumns = Schemas['KnownColumnsOut'];
export type KnownPeople = Schemas['KnownOut'];
export type Forgotten = Schemas['ForgottenOut'];

export type Collection = Schemas['CollectionOut'];
export type Upload = Schemas['UploadOut'];
export type AddedFile = Schemas['AddedFile'];
export type DuplicateFile = Schemas['DuplicateFile'];
export type RejectedFile = Schemas['RejectedFile'];
export type Image = Schemas['ImageOut'];
export type ImagePage = Schemas['ImagePage'];

export type Campaign = Schemas['CampaignOut'];
export type CampaignAction = operations['act_on_campaign']['parameters']['path']['action'];
export type CampaignChanges = Schemas['CampaignChanges'];
export type NewCampaign = Schemas['NewCampaign'];
export type Options = Schemas['OptionsOut'];
export type Strategy = Schemas['StrategyOut'];
export type Plan = Schemas['PlanOut'];
export type DryRun = Schemas['DryRunOut'];
export type DryRunIn = Schemas['DryRunIn'];
export type DryRunPoint = Schemas['PointOut'];
export type Groupings = Schemas['GroupingsOut'];
export type Progress = Schemas['ProgressOut'];
export type Monitor = Schemas['MonitorOut'];
export type FeatureMap = Schemas['FeatureMapOut'];
export type Suggestions = Schemas['SuggestionsOut'];
export type Round = Schemas['RoundOut'];
export type Job = Schemas['JobOut'];
export type Model = Schemas['ModelOut'];
export type ModelMap = Schemas['MapOut'];
export type MapPoint = Schemas['MapPoint'];
export type MapColumns = Schemas['ColumnsOut'];
export type MapColumn = Schemas['ColumnOut'];
export type Neighbours = Schemas['NeighboursOut'];
export type Neighbour = Schemas['NeighbourOut'];
export type Insight = Schemas['InsightOut'];
export type Attribute = Schemas['AttributeOut'];
export type Example = Schemas['ExampleOut'];
export type Axis = Schemas['AxisOut'];
export type PlacedImage = Schemas['PlacedImage'];
export type ShownImage = Schemas['ShownImage'];
export type PairEvidence = Schemas['PairEvidenceOut'];
export type SharedAnswer = Schemas['SharedAnswerOut'];
export type Comparison = Schemas['ComparisonOut'];
export type ComparedPoint = Schemas['ComparedPoint'];
export type Figure = Schemas['FigureOut'];
export type Clustering = Schemas['ClusteringOut'];
export type ClusteringSummary = Schemas['ClusteringSummary'];
export type Cluster = Schemas['ClusterOut'];
export type OwnClusters = Schemas['OwnClustersOut'];
export type OwnCluster = Schemas['OwnClusterOut'];
export type Reliability = Schemas['ReliabilityOut'];
export type Membership = Schemas['MembershipOut'];
export type Label = Schemas['LabelOut'];
export type LabelQuality = Schemas['LabelQualityOut'];
export type Classified = Schemas['ClassifiedOut'];
export type ClassQuality = Schemas['ClassQualityOut'];
export type ClassVoter = Schemas['ClassVoterOut'];
export type LabelScores = Schemas['ScoresOut'];
export type CalibrationBin = Schemas['ReliabilityBin'];
export type AnnotatorQuality = Schemas['JurorOut'];
export type ClusterSuggestion = Schemas['SuggestionOut'];
export type AnnotatorInsight = Schemas['AnnotatorOut'];
export type Exports = Schemas['ExportsOut'];
export type ExportFile = Schemas['ExportOut'];
export type ImageDetails = Schemas['ImageDetails'];
export type AttributeValues = Schemas['AttributeValuesOut'];
export type Shapes = Schemas['ShapesOut'];
export type SelectionUse = Schemas['SelectionUseOut'];
export type SelectionIn = Schemas['SelectionIn'];
export type Dependents = Schemas['DependentsOut'];
export type ImageImport = Schemas['ImportOut'];
export type Alignment = Schemas['AlignmentOut'];
export type Alignable = Schemas['AlignableOut'];
export type Score = Schemas['ScoreOut'];
export type AttributeFigures = Schemas['AttributeFiguresOut'];
export type Place = Schemas['PlaceOut'];
export type FeatureSet = Schemas['FeatureSetOut'];
export type FeatureSource = Schemas['SourceOut'];
export type ImportProblem = Schemas['ProblemOut'];
export type KnownFiles = Schemas['KnownFiles'];

export type ChannelAccount = Schemas['ChannelAccountOut'];
export type Recruitment = Schemas['RecruitmentOut'];
export type Posting = Schemas['PostingOut'];
export type RecruitmentDryRun = Schemas['RecruitmentDryRunOut'];
export type RecruitingOptions = Schemas['RecruitingOptionsOut'];
export type ChannelOptions = Schemas['ChannelOptionsOut'];
export type Estimate = Schemas['EstimateOut'];
export type EstimateIn = Schemas['EstimateIn'];
export type NewRecruitment = Schemas['NewRecruitment'];
export type Submission = Schemas['SubmissionOut'];
export type Payment = Schemas['PaymentOut'];
export type PaymentState = NonNullable<
  NonNullable<operations['list_payments']['parameters']['query']>['state']
>;
export type PaymentTotal = Schemas['TotalOut'];
export type PaymentTotals = Schemas['TotalsOut'];
export type Reconciliation = Schemas['ReconciliationOut'];
export type Difference = Schemas['DifferenceOut'];
export type Panel = Schemas['PanelOut'];
export type Link = Schemas['LinkOut'];
export type NewLink = Schemas['NewLink'];
export type ChangedLink = Schemas['ChangedLink'];
export type Invitation = Schemas['InvitationOut'];
export type InvitationsMade = Schemas['InvitationsMade'];
export type Owed = Schemas['OwedOut'];
